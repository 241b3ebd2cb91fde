package result

import _ "embed"

// SchemaJSON is the JSON schema of results.json, for readers in other languages.
// It is generated from the types of this package (go test ./reports/result -update)
// and a test holds it to them.
//
//go:embed results.schema.json
var SchemaJSON []byte
