// Package render turns one results.json into what people and machines read:
// terminal, Markdown, CSV, one offline HTML file, the Go benchmark format and
// JUnit.
//
// It promises:
//
//  1. The first columns are those of the published measurements of bcs-k8s-watch,
//     in their order and units; our own follow.
//  2. What is not known is shown as "–", never as 0.
//  3. A drain time that was not waited for is marked as projected, in every format;
//     formats that cannot mark it leave it out.
//  4. An invalid cell's figures are not shown as measurements; its reason is.
//  5. A cell that fails a check is marked wherever its speed is shown, and its speed
//     does not enter comparisons (headline, benchmark format).
//  6. Repetitions are summarised by the median. Percentiles over repetitions come
//     from merged histograms and are unknown where a histogram is missing; they
//     are never averaged.
//  7. Text that came from a cluster is data in every format: no terminal control
//     sequence, HTML element, script, Markdown link, spreadsheet formula or
//     benchmark name part can be smuggled in.
//  8. Output depends on the record alone: same record, same bytes.
//
// It does not judge: verdicts come with the record.
package render
