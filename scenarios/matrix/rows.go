package matrix

import (
	"slices"
	"strconv"
	"strings"
)

// Row is one fault of the matrix.
type Row struct {
	ID    string
	Title string
	// NotBuilt says why no scenario can show it.
	NotBuilt string
}

// Rows are all faults, in order.
var Rows = []Row{
	{ID: "F0", Title: "none"},
	{ID: "F1", Title: "slow storage"},
	{ID: "F2", Title: "storage refuses connections, forgets"},
	{ID: "F3", Title: "storage never answers"},
	{ID: "F4", Title: "storage answers errors, Retry-After"},
	{ID: "F5", Title: "unknown outcome, late apply"},
	{ID: "F6", Title: "requests applied twice"},
	{ID: "F7", Title: "poison objects"},
	{ID: "F8", Title: "watches end, older cache"},
	{ID: "F9", Title: "silent watch"},
	{ID: "F10", Title: "410 Gone"},
	{ID: "F11", Title: "relist after 410 fails"},
	{ID: "F12", Title: "apiserver gone, 429"},
	{ID: "F13", Title: "streaming list without its bookmark"},
	{ID: "F14", Title: "SIGTERM"},
	{ID: "F15", Title: "SIGKILL"},
	{ID: "F16", Title: "deletions while down"},
	{ID: "F17", Title: "rows removed, edited, added in storage"},
	{ID: "F18", Title: "names created again"},
	{ID: "F19", Title: "burst into slow storage"},
	{ID: "F20", Title: "queues changed under load"},
	{ID: "F21", Title: "huge objects, garbled watch"},
	{ID: "F22", Title: "custom resources come and go"},
	{ID: "F23", Title: "two watchers at once, leader killed"},
	{ID: "F24", Title: "slow receivers of notifications", NotBuilt: "notifications are not built yet"},
	{ID: "F25", Title: "forged addresses of webhooks", NotBuilt: "webhooks are not built yet"},
	{ID: "F26", Title: "canaries in masked fields"},
	{ID: "F27", Title: "bad certificates, old TLS, rotated CA and token"},
	{ID: "F28", Title: "abuse of the query API", NotBuilt: "the query API is not built yet"},
}

// Columns are the matrix' columns with what they stand for.
var Columns = []struct{ ID, Title string }{
	{"C", "converge"}, {"O", "order"}, {"L", "loss"}, {"B", "bounded"}, {"I", "isolation"}, {"A", "amplification"}, {"T", "time"}, {"S", "secrecy"},
}

// rowOf finds a row.
func rowOf(id string) (Row, bool) {
	i := slices.IndexFunc(Rows, func(r Row) bool { return r.ID == id })
	if i < 0 {
		return Row{}, false
	}
	return Rows[i], true
}

// Known reports whether there is a row of that name.
func Known(id string) bool {
	_, ok := rowOf(id)
	return ok
}

// number orders rows.
func number(id string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "F"))
	if err != nil {
		return len(Rows)
	}
	return n
}
