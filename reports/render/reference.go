package render

// The measurements that bcs-k8s-watch's authors published: one Kubernetes cluster,
// one watcher, three storage instances. "Before" has a Writer queue of 10 240 and
// one Pod handler queue of 1 024; "after" has 102 400 and 30 queues of 1 024.
// Columns are those of the published table. The network figure of the last row is
// printed as 1.170 in the source; by the trend, 1 170 is meant.
var publishedRows = [][]string{
	{"before", "117", "10", "10", "0", "128", "89.7", "8.97", "0.085", "83.5", "101"},
	{"before", "298", "10", "20", "0", "360", "89.75", "21.2", "0.142", "100.6", "227.4"},
	{"before", "513", "10", "30", "0", "540", "89.76", "29.39", "0.149", "125", "409"},
	{"before", "577", "10", "50", "0", "720", "89.8", "30.17", "0.186", "132.9", "259"},
	{"before", "973.7", "10", "100", "15", "1080", "90", "33.29", "0.158", "139.2", "492"},
	{"before", "1699.2", "10", "200", "390", "1380", "89.63", "35", "0.118", "173", "638"},
	{"after", "351.8", "10", "20", "0", "20", "86", "118", "0.785", "99.2", "629"},
	{"after", "585.4", "10", "40", "0", "30", "86.68", "127", "0.763", "113", "716"},
	{"after", "735.8", "10", "60", "0", "34", "86.79", "173", "0.980", "130.5", "859"},
	{"after", "1048.8", "10", "80", "0", "45", "86.8", "219", "1.597", "141", "1017"},
	{"after", "1164.4", "10", "120", "0", "45", "87.10", "225", "1.536", "172", "1428"},
	{"after", "818.2", "10", "200", "0", "28", "87.26", "216", "1.354", "123", "1317"},
	{"after", "962.6", "10", "400", "0", "40", "87.58", "164", "1.290", "135", "1.170"},
}

// Reference is their table: the setup and the ten columns, as printed.
func (t *table) Reference() sheet {
	s := sheet{Keys: 1, Heads: words("setup")}
	for _, c := range published {
		s.Heads = append(s.Heads, c.heading(false))
	}
	for _, texts := range publishedRows {
		var l sheetRow
		l.add(texts...)
		s.Rows = append(s.Rows, l)
	}
	return s
}

// ReferenceNote tells a reader how the two tables relate.
func (t *table) ReferenceNote() string {
	return "Measured by the authors of bcs-k8s-watch on a real cluster with three storage instances; not by this run and not on this machine. “before”: one Pod handler queue, Writer queue 10 240. “after”: 30 Pod handler queues, Writer queue 102 400. The last network figure is printed so in the source; 1170 is meant, by the trend."
}
