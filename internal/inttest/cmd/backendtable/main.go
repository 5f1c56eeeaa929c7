// Command backendtable prints the README's table of the backends from a test run: how
// many rules of the suite each keeps, what an append costs on the wire, and the version of
// the server. Run it from the repository's folder or below:
//
//	cd internal/inttest && GOWORK=off go run ./cmd/backendtable [-w README.md]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/sessionstore/sessionstore/internal/testenv"
	"github.com/sessionstore/sessionstore/storetest"
)

// backend is a row. What is measured is not here, unless there is no server to ask.
type backend struct {
	name, url, durable, processes string
	append                        string // what an append costs; "": round trips are counted
}

var backends = []backend{
	{"memory", "`memory:`", "no", "one", "no I/O"},
	{"bolt", "`bolt:PATH`", "fsync before it returns", "one at a time", "one commit, shared by those who wait"},
	{"postgres", "`postgres://…`", "as `synchronous_commit` says", "any number", ""},
	{"redis", "`redis://…`, `redis+cluster://…`", "as `appendfsync` says", "any number", ""},
	{"mongo", "`mongodb://…`, `mongodb+srv://…`", "on a majority, journaled", "any number", ""},
}

func main() {
	write := flag.String("w", "", "write the table between the markers of this `file` of the repository, instead of printing it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *write); err != nil {
		fmt.Fprintln(os.Stderr, "backendtable:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, write string) error {
	root := testenv.Root()
	table, err := makeTable(ctx, root)
	if err != nil {
		return err
	}
	if write == "" {
		fmt.Print(table)
		return nil
	}
	file := filepath.Join(root, write)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed, err := between(string(text), table)
	if err != nil {
		return fmt.Errorf("%s: %w", write, err)
	}
	return os.WriteFile(file, []byte(changed), 0o644)
}

func makeTable(ctx context.Context, root string) (string, error) {
	var packages []string
	for _, b := range backends {
		packages = append(packages, "./"+b.name)
	}
	suite, err := goTest(ctx, root, append([]string{"-run", "^TestConformance$"}, packages...)...)
	if err != nil {
		return "", err
	}
	wire, err := goTest(ctx, filepath.Join(root, "internal", "inttest"), "-run", "^TestAppendTrips$", ".")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| import | URL | durable | processes | an append costs | rules kept | tested with |\n|---|---|---|---|---|---|---|\n")
	for _, row := range backends {
		kept, err := rules(suite, row.name)
		if err != nil {
			return "", err
		}
		costs, server := row.append, "—"
		if costs == "" {
			attrs := wire.attrs["TestAppendTrips/"+row.name]
			costs, server = attrs["append"], attrs["server"]
			if costs == "" || server == "" {
				return "", fmt.Errorf("%s: its append was not counted: is there a server?", row.name)
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", row.name, row.url, row.durable, row.processes, costs, kept, server)
	}
	return b.String(), nil
}

// rules says how many of the suite's rules a backend keeps.
func rules(suite *result, name string) (string, error) {
	kept, all := 0, storetest.Rules()
	for _, rule := range all {
		switch got := suite.actions[name+" TestConformance/"+string(rule.ID)]; got {
		case "pass":
			kept++
		case "fail":
			fmt.Fprintf(os.Stderr, "backendtable: %s does not keep the rule %s\n", name, rule.ID)
		default:
			return "", fmt.Errorf("%s: the rule %s was not tested, but %q: is there a server?", name, rule.ID, got)
		}
	}
	return fmt.Sprintf("%d of %d", kept, len(all)), nil
}

// The markers of the table in a Markdown file.
const (
	begin = "<!-- backends: make table rewrites this -->\n"
	end   = "<!-- backends: end -->"
)

// between replaces what stands between the markers.
func between(text, table string) (string, error) {
	before, rest, ok := strings.Cut(text, begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return "", fmt.Errorf("the table's markers are not there: a line %q, and %q", strings.TrimSpace(begin), end)
	}
	return before + begin + table + end + after, nil
}
