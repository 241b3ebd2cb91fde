// Package live serves one page that shows a running watcher by its metrics: its queues, its rates, what storage
// answers, and where the bottleneck is. docs/dashboard.md explains each figure; none of them is judged.
//
// It promises:
//
//  1. What is not known is absent from a Frame and from the page, never 0.
//  2. Text from outside (names of queues and kinds, errors) is cleaned and cut, and the page sets it as text only.
//  3. Memory is bounded: so many frames are kept, so many queues are shown, and the page keeps so many points.
//  4. A slow viewer delays nobody: each asks for the frames that it lacks.
//  5. The page works offline, except in a program built without the chart script.
//  6. Run ends within a second of the end of its context.
package live
