// Package live serves one page that shows a running watcher: its queues, its rates, what
// storage answers, and where the bottleneck is.
//
// Promises:
//
//  1. What is not known is absent from a Frame and from the page, never 0.
//  2. Text from outside (names of queues and kinds, errors) stays text: it is cleaned and
//     cut, and the page sets it as text only.
//  3. Memory is bounded: so many frames are kept, so many queues are shown, and the page
//     keeps so many points of each chart.
//  4. A slow viewer delays nobody: each asks for the frames that it lacks.
//  5. The page works offline, except in a program built without the chart script.
//  6. Run ends within a second of the end of its context.
//
// It promises no figures for judgement: those come from the record of a run, see
// docs/measures.md.
package live
