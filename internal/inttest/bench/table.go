package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteTable writes the results in Markdown: a table for each backend, and then the goals
// that were missed.
func WriteTable(out io.Writer, results []Result) {
	var missed []string
	for _, r := range results {
		fmt.Fprintf(out, "### %s\n\n", r.title())
		if r.Missing != nil {
			fmt.Fprintf(out, "Not measured: %v.\n\n", r.Missing)
			continue
		}
		fmt.Fprintln(out, "| workload | floor | ratio | in the rounds | goal | allocations a call | round trips a call |")
		fmt.Fprintln(out, "|---|---|--:|---|---|---|---|")
		for _, race := range r.Races {
			for _, row := range r.rows(race) {
				fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
			}
			missed = append(missed, r.missed(race)...)
		}
		fmt.Fprintln(out)
	}
	if len(missed) > 0 {
		fmt.Fprintf(out, "### Goals that were missed\n\n- %s\n", strings.Join(missed, "\n- "))
	}
}

func (r Result) title() string {
	of := slices.DeleteFunc([]string{r.Server, r.Driver}, func(s string) bool { return s == "" })
	title := r.Backend
	if len(of) > 0 {
		title += " (" + strings.Join(of, ", ") + ")"
	}
	if r.Slow {
		title += ": count the round trips, the ratios say nothing about speed"
	}
	return title
}

// rows compares the store with each of the others.
func (r Result) rows(race Race) (out [][]string) {
	store := race.lane(storeName)
	for i, l := range race.others() {
		ratio, low, high := store.over(l)
		row := []string{race.Workload.Name, l.Name, fmt.Sprintf("%.2f", ratio), fmt.Sprintf("%.2f–%.2f", low, high),
			r.verdict(race, l.Name, ratio),
			fmt.Sprintf("%.0f (%.0f)", store.median(Round.allocs), l.median(Round.allocs)),
			fmt.Sprintf("%.2f (%.2f)", store.median(Round.trips), l.median(Round.trips))}
		if r.Server == "" {
			row[6] = "–"
		}
		if i == 0 {
			for cell, figure := range map[int]string{5: allocs, 6: trips} {
				if v := r.verdict(race, figure, race.figures()[figure]); v != "" {
					row[cell] += "; " + v
				}
			}
		}
		out = append(out, row)
	}
	return out
}

// verdict says what has become of the goal for a figure, or nothing if there is none.
func (r Result) verdict(race Race, figure string, got float64) string {
	if g, ok := r.goal(race, figure); ok {
		return g.verdict(got)
	}
	return ""
}

func (r Result) goal(race Race, figure string) (goal, bool) {
	for _, g := range goals[r.Backend][race.Workload.base] {
		if g.figure == figure && (!r.Slow || !g.timed()) {
			return g, true
		}
	}
	return goal{}, false
}

// missed names the goals that the race has missed.
func (r Result) missed(race Race) (out []string) {
	figures := race.figures()
	for _, g := range goals[r.Backend][race.Workload.base] {
		got, measured := figures[g.figure]
		if _, judged := r.goal(race, g.figure); measured && judged && g.passed(got) {
			out = append(out, fmt.Sprintf("%s %s, %s: %.2f, %s", r.Backend, race.Workload.Name, g.figure, got, g.verdict(got)))
		}
	}
	return out
}
