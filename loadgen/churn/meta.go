package churn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// metadataType asks for the metadata alone. An apiserver that does not know it answers with the object.
const metadataType = protobufType + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

const metadataAccepted = metadataType + "," + protobufType + ",application/json"

// protobufMagic begins what Kubernetes encodes as protobuf; a runtime.Unknown follows.
var protobufMagic = []byte("k8s\x00")

var errNoObject = errors.New("the apiserver's answer is not an object")

// readMetadata reads the metadata of an answer: it is the first field of every kind. ok is false for a Status.
func readMetadata(body []byte) (m metav1.ObjectMeta, ok bool, err error) {
	if !bytes.HasPrefix(body, protobufMagic) {
		return readJSONMetadata(body)
	}
	var outer runtime.Unknown
	if err := outer.Unmarshal(body[len(protobufMagic):]); err != nil {
		return m, false, fmt.Errorf("%w: %w", errNoObject, err)
	}
	if outer.Kind == "Status" {
		return m, false, nil
	}
	var inner metav1.PartialObjectMetadata
	if err := inner.Unmarshal(outer.Raw); err != nil {
		return m, false, fmt.Errorf("%w: %s: %w", errNoObject, outer.Kind, err)
	}
	return inner.ObjectMeta, true, nil
}

func readJSONMetadata(body []byte) (m metav1.ObjectMeta, ok bool, err error) {
	var object struct {
		Kind     string
		Metadata metav1.ObjectMeta
	}
	if err := json.Unmarshal(body, &object); err != nil {
		return m, false, fmt.Errorf("%w: %w", errNoObject, err)
	}
	return object.Metadata, object.Kind != "Status", nil
}
