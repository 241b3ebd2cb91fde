package storage

import (
	"net/url"
	"strconv"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/watcher/object"
)

// request is one HTTP/1.1 request in the pieces it is written in. The object's
// bytes stay where the cache has them.
type request struct {
	method  string
	handler string // metric label: which endpoint
	kind    string
	line    []byte    // request line
	headers []byte    // without Host, with the empty line
	body    [3][]byte // empty parts are nil
	page    bool      // its answer may be long
}

var (
	dataOpen  = []byte(`{"data":`)
	dataClose = []byte(`}`)
)

// The values of the metric label "handler" (contract §9).
const (
	handlerNamespaced   = "k8s_cluster_namespace_type_name"
	handlerCluster      = "k8s_cluster_type_name"
	handlerNamespaceLs  = "k8s_cluster_namespace_type"
	handlerClusterLs    = "k8s_cluster_type"
	handlerEvents       = "events"
	handlerWatchObjects = "k8s_watch_cluster_namespace_type_name"
)

func buildPut(cluster string, o *object.Object) (*request, error) {
	r := &request{method: "PUT", kind: o.Key.Kind, handler: HandlerLabel(o.Key)}
	path := bcsapi.EventsPath()
	if o.Key.Kind == bcsapi.KindEvent {
		rec, err := EventRecord(cluster, o.JSON())
		if err != nil {
			return nil, &PermanentError{Err: err}
		}
		r.body[0] = rec
	} else {
		path = objectPath(cluster, o.Key)
		r.body = [3][]byte{dataOpen, o.JSON(), dataClose}
	}
	r.setHead(path, len(r.body[0])+len(r.body[1])+len(r.body[2]))
	return r, nil
}

// buildDelete makes the request that removes an object. Kubernetes Events have
// none; events are filtered before they get here.
// With a uid it removes only that object: storage compares the path of a query
// parameter with the stored data (contract §1.5).
func buildDelete(cluster string, k object.Key, uid string) *request {
	r := &request{method: "DELETE", kind: k.Kind, handler: HandlerLabel(k)}
	r.setHead(onlyUID(objectPath(cluster, k), uid), noBody)
	return r
}

// onlyUID makes a target mean the record with that uid, any if it is empty.
func onlyUID(target, uid string) string {
	if uid == "" {
		return target
	}
	return target + "?data.metadata.uid=" + url.QueryEscape(uid)
}

func buildGet(handler, kind, target string) *request {
	r := &request{method: methodGet, handler: handler, kind: kind}
	r.setHead(target, noBody)
	return r
}

// HandlerLabel is the value of the metric label "handler" of a call about that key.
func HandlerLabel(k object.Key) string {
	switch {
	case k.Kind == bcsapi.KindEvent:
		return handlerEvents
	case k.Kind == bcsapi.KindExportService:
		return handlerWatchObjects
	case k.Namespace == "":
		return handlerCluster
	default:
		return handlerNamespaced
	}
}

const noBody = -1

const methodGet = "GET"

// setHead renders the request line and the headers except Host, which is the
// endpoint's; length is the length of the body, or noBody.
func (r *request) setHead(target string, length int) {
	const line, headers = " HTTP/1.1\r\n", "User-Agent: k8s-watch\r\nContent-Type: application/json\r\n"
	b := make([]byte, 0, len(r.method)+1+len(target)+len(line))
	b = append(append(append(append(b, r.method...), ' '), target...), line...)
	r.line = b
	h := make([]byte, 0, len(headers)+len("Content-Length: 0000000000\r\n\r\n"))
	h = append(h, headers...)
	if length != noBody {
		h = append(h, "Content-Length: "...)
		h = strconv.AppendInt(h, int64(length), 10)
		h = append(h, "\r\n"...)
	}
	r.headers = append(h, "\r\n"...)
}

// objectPath joins the segments as the original does, and escapes what would end
// the path: RBAC names may hold almost any character.
func objectPath(cluster string, k object.Key) string {
	return escapePath(bcsapi.ObjectPath(cluster, k.Namespace, k.Kind, k.Name))
}

func escapePath(p string) string { return (&url.URL{Path: p}).EscapedPath() }
