package bcsapi

import (
	"cmp"
	"encoding/json"
)

// Code is the result code of an answer. The HTTP status is 200 for application errors
// too; only Result and Code distinguish them from success.
type Code int

// The result codes of the storage server.
const (
	CodeSuccess     Code = 0
	CodeUnmarshal   Code = 1405080 // E15 PUT, any failure
	CodePut         Code = 1405082 // E1, E6, E11: bad body or database error
	CodeGet         Code = 1405083
	CodeDelete      Code = 1405084 // database error only: deleting what is not there succeeds
	CodeList        Code = 1405085
	CodeNotExist    Code = 1405087 // single GET of a missing object
	serverErrPrefix      = "(bcs-storage):"
)

// OfStorage reports whether the code is one of bcs-storage's own errors. Gateways in
// front of it wrap their errors alike, with codes of theirs.
func (c Code) OfStorage() bool { return c >= CodeUnmarshal && c <= CodeNotExist }

var messages = map[Code]string{
	CodeUnmarshal: "request data unmarshal failed.",
	CodePut:       "put resource failed.",
	CodeGet:       "get resource failed.",
	CodeDelete:    "delete resource failed.",
	CodeList:      "list resource failed.",
	CodeNotExist:  "resource does not exist.",
}

// Message returns the text that the server sends with a code.
func (c Code) Message() string {
	if c == CodeSuccess {
		return "success"
	}
	return serverErrPrefix + cmp.Or(messages[c], "unknown code.")
}

// Envelope wraps every answer. Total is set by event lists only.
type Envelope struct {
	Result  bool            `json:"result"`
	Code    Code            `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
	Total   *int64          `json:"total,omitempty"`
}
