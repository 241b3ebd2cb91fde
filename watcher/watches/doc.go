// Package watches keeps the kinds that readers ask for: those that the pipeline collects anyway, and others from
// their first query on for as long as they are used.
//
// It promises:
//
//  1. A kind is followed at most once here in each version, even if several ask at once: 100 first queries are one
//     list.
//  2. Open returns no kind before its first list is complete, and each kind in the version that was asked for. Two
//     versions are two watches.
//  3. What is denied is neither opened nor served nor listed, whoever follows it. What is masked for storage is
//     masked here.
//  4. What readers hold never ends because it is unused or because room is short. It ends when the kind is not served
//     any more or is another one under its name (its cursors then get view.ErrEnded), when the pipeline stops or
//     moves it, and with Run. The reader opens the kind anew.
//  5. A kind whose watch is broken can be read; Health says since when it is old. Each Open has it tried again at
//     once, at most once a second.
//  6. Numbers and bytes are bounded by the configuration, also while a first list comes; see Config.MaxBytes for what
//     happens at the bound.
//  7. It takes nothing from the pipeline: it reads the pipeline's views, and follows everything else over connections
//     of its own. First lists take half of a processor's time at most.
//
// It does not promise that a kind which the catalogue names can be read: rights may be missing, and the server of an
// aggregated group may be away.
package watches
