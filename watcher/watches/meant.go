package watches

import (
	"fmt"
	"slices"
	"strings"
)

// NotServedError is ErrNotServed of a kind or resource, with what may have been meant.
type NotServedError struct{ What, Meant string } // Meant: "" is nothing that is known

func (e *NotServedError) Error() string {
	if e.Meant == "" {
		return fmt.Sprintf("the cluster serves no %s", e.What)
	}
	return fmt.Sprintf("the cluster serves no %s; want %s", e.What, e.Meant)
}

// Unwrap returns ErrNotServed.
func (e *NotServedError) Unwrap() error { return ErrNotServed }

// NoKind is why FindKind finds nothing: ErrDenied or a *NotServedError. It reveals no more
// than discovery does of that version.
func (c *Catalogue) NoKind(group, version, kind string) error {
	r := GVR{group, version, kind}
	if slices.ContainsFunc(c.Withheld, func(k Kind) bool {
		return k.Group == group && k.Version == version && k.named(kind)
	}) {
		return ErrDenied
	}
	err := &NotServedError{What: fmt.Sprintf("kind %q", r)}
	if k, ok := c.first(group, version, func(k Kind) bool { return k.named(kind) }); ok {
		err.Meant = GVR{group, version, k.Kind}.String()
	}
	return err
}

// NoResource is why Find finds nothing of what is not withheld.
func (c *Catalogue) NoResource(r GVR) *NotServedError {
	err := &NotServedError{What: fmt.Sprintf("resource %q", r)}
	if k, ok := c.first(r.Group, r.Version, func(k Kind) bool { return k.named(r.Resource) }); ok {
		err.Meant = GVR{r.Group, r.Version, k.Name}.String()
	}
	return err
}

// named reports whether users call a kind so, in whatever letters.
func (k Kind) named(name string) bool {
	return slices.ContainsFunc(append([]string{k.Kind, k.Name, k.Singular}, k.ShortNames...), func(n string) bool {
		return n != "" && strings.EqualFold(n, name)
	})
}
