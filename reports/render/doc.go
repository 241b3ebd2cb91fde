// Package render turns a record into what people and machines read. A builder makes a Document of
// results.json, a comparison, a gate's verdict, a fault matrix, a search or a folder of runs; one
// writer per format prints it: terminal, Markdown, one offline HTML file. CSV, JUnit and the Go
// benchmark format have writers of their own over a run's rows.
//
// It promises:
//
//  1. The first table has nine columns at most, and fits 120; the columns of the published measurements of
//     bcs-k8s-watch are in CSV, Markdown and the page, in their order and units.
//  2. An unknown value is shown as "–", never as 0.
//  3. A projected drain time is marked in every format; formats that cannot mark it leave it out.
//  4. An invalid cell's figures are not shown as measurements; its reason is.
//  5. A cell that fails a check is marked wherever its speed is shown, and its speed
//     does not enter comparisons.
//  6. Repetitions are summarised by the median. Percentiles over repetitions come
//     from merged histograms and are unknown where a histogram is missing; they
//     are never averaged.
//  7. Text from a cluster is data in every format: no terminal control sequence, HTML element,
//     script, Markdown link, spreadsheet formula or benchmark name part can be smuggled in.
//  8. The output depends on the record alone: same record, same bytes.
//
// It does not judge: verdicts, winners and the smallest settings come with the record.
package render
