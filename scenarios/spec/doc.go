// Package spec is the scenario file: its types, a strict decoder that names file
// and line, the expansion of its matrix into cells, and its JSON schema.
//
// Promises:
//
//  1. Every problem of a scenario is one *Error: the place (file and line, or
//     the --set flag), the field, what is wrong and what would be right.
//  2. An unknown field is an error wherever it stands, in a matrix point and in
//     an override as well.
//  3. What the decoder returns has passed Validate in every cell of the matrix:
//     an impossible combination is found before anything is started.
//  4. The same file, overrides and seed give the same cells in the same order.
//  5. Input is bounded: MaxBytes, MaxDepth, MaxNodes, MaxCells; aliases and
//     anchors are refused, so a small file cannot become a large tree.
package spec
