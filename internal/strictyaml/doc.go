// Package strictyaml reads a YAML file into Go types and refuses what it does not
// know.
//
// Promises:
//
//  1. Every problem is one *Error on one line: the place (file and line, or the
//     --set flag), the field, what is wrong and what would be right.
//  2. An unknown field, a field given twice, a second document, an anchor and a
//     merge key are errors wherever they stand.
//  3. Fields are named by their json tags, also those of embedded structs; what the
//     input does not mention keeps the value it had.
//  4. A check of the typed values that fails later with a *FieldError still gets
//     its place: see Decoder.Locate.
//  5. Input is bounded by its Format, so a small file cannot become a large tree.
package strictyaml
