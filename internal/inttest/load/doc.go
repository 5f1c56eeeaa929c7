// Package load asks whether a store stays as fast as it was when it holds a hundred times
// as much: it fills one to a hundredth of a size, measures, fills it to the whole size,
// and measures again. And it soaks one: the same calls for a long time on data that stays
// as large as it is, after which the process must not have grown.
package load
