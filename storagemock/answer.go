package storagemock

import (
	"strconv"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/internal/jsonscan"
)

// contentType is how the real server's sniffing labels JSON.
const contentType = "text/plain; charset=utf-8"

// reply is the answer to a request.
type reply struct {
	status int
	code   bcsapi.Code
	body   []byte
	typ    string // content type; empty is contentType
	// Ledger entries that the answer belongs to.
	first, last uint64
	effect      string // for the metrics
}

// done is the body of the answer to a successful write.
var done = []byte(`{"result":true,"code":0,"message":"success","data":{}}`)

// success wraps data in an envelope; extra holds further top-level members, each with a leading comma.
func success(data []byte, extra string) reply {
	b := make([]byte, 0, len(data)+len(extra)+64)
	b = append(b, `{"result":true,"code":0,"message":"success","data":`...)
	b = append(b, data...)
	b = append(b, extra...)
	return reply{status: 200, body: append(b, '}')}
}

// failure returns an error envelope; detail, if any, is appended to the code's message. For a list its data is an empty
// list instead of an empty object.
func failure(status int, code bcsapi.Code, detail string, list bool) reply {
	text := code.Message()
	if detail != "" {
		text += " " + detail
	}
	b := append([]byte(`{"result":false,"code":`), strconv.Itoa(int(code))...)
	b = jsonscan.AppendString(append(b, `,"message":`...), text)
	if list {
		b = append(b, `,"data":[]}`...)
	} else {
		b = append(b, `,"data":{}}`...)
	}
	return reply{status: status, code: code, body: b}
}

// plain returns an answer without an envelope, as the HTTP framework sends it.
func plain(status int, text string) reply {
	return reply{status: status, body: []byte(text)}
}
