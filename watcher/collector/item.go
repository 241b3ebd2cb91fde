package collector

import (
	"fmt"
	"log/slog"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/watchbench/watchbench/watcher/object"
)

// item is an object on its way through the reflector. Of the interfaces that
// client-go wants it has what a reflector uses.
type item struct {
	obj      *object.Object
	received time.Time
	// problem is why obj has no content: a mask that could not be applied.
	problem error
	// bad is set for an object that cannot be read; obj then is as much of its key as can be.
	bad *unreadable
	// version overrides obj's, for bookmarks and versions that are not numbers.
	version string
	// initialEnd marks the bookmark behind the initial events of a streaming list.
	initialEnd bool
}

var (
	_ runtime.Object            = (*item)(nil)
	_ metav1.ObjectMetaAccessor = (*item)(nil)
	_ slog.LogValuer            = (*item)(nil)
)

func (i *item) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the item itself: items are immutable.
func (i *item) DeepCopyObject() runtime.Object { return i }

func (i *item) GetObjectMeta() metav1.Object { return itemMeta{i: i} }

// String and LogValue keep content out of client-go's error messages (G13).
func (i *item) String() string               { return i.obj.String() }
func (i *item) LogValue() slog.Value         { return slog.StringValue(i.String()) }
func (i *item) MarshalLog() any              { return i.String() }
func (i *item) Format(f fmt.State, _ rune)   { _, _ = f.Write([]byte(i.String())) }
func (i *item) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// itemMeta answers the questions that reflectors and their stores ask. The others
// go to the embedded nil and must not be called.
type itemMeta struct {
	metav1.Object
	i *item
}

// GetName also gives unreadable objects without a name distinct names, for client-go's store of a streaming list.
func (m itemMeta) GetName() string {
	if bad := m.i.bad; bad != nil && m.i.obj.Key.Name == "" {
		return "\x00" + strconv.Itoa(bad.index)
	}
	return m.i.obj.Key.Name
}

func (m itemMeta) GetNamespace() string { return m.i.obj.Key.Namespace }

func (m itemMeta) GetResourceVersion() string {
	if m.i.version != "" {
		return m.i.version
	}
	return strconv.FormatUint(m.i.obj.ResourceVersion, 10)
}

func (m itemMeta) GetAnnotations() map[string]string {
	if m.i.initialEnd {
		return map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return nil
}

// itemList is a LIST, or one page of it.
type itemList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items    []runtime.Object
	hasItems bool // it had the member, if only null
}

var _ runtime.Object = (*itemList)(nil)

// DeepCopyObject returns the list itself: nobody writes to it.
func (l *itemList) DeepCopyObject() runtime.Object { return l }
