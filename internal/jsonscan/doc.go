// Package jsonscan walks forward over JSON text without decoding it. It reports
// where keys and values lie, so that a caller can pick, cut and insert bytes.
// Decode reads a flat object, such as a line of a recorded file.
//
// It accepts exactly the language of RFC 8259 (control characters in strings,
// numbers with leading zeros and the like are errors), does not allocate on
// valid input without escapes, and never recurses deeper than MaxDepth. Bytes
// that are not UTF-8 pass through strings unchanged, as in encoding/json.
package jsonscan
