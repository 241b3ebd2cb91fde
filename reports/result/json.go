package result

import (
	"encoding/json"
	"fmt"
	"io"
)

// EncodeJSON writes a document as indented JSON with a line break at its end. Nothing is written on an error, such as a
// number that JSON cannot carry.
func EncodeJSON(w io.Writer, document any) error {
	data, err := indented(document)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

func indented(document any) ([]byte, error) {
	data, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", document, err)
	}
	return append(data, '\n'), nil
}
