package object

import "github.com/watchbench/watchbench/internal/jsonscan"

// Owner is one entry of metadata.ownerReferences.
type Owner struct {
	APIVersion, Kind, Name, UID string
	Controller                  bool
}

// Owners returns the owner references of raw in their order. The strings share memory with raw.
func Owners(raw []byte) ([]Owner, error) {
	m, err := Scan(raw)
	if err != nil || m.OwnerReferences.Empty() {
		return nil, err
	}
	s := jsonscan.At(raw, m.OwnerReferences.Start)
	var owners []Owner
	more, err := s.EnterArray()
	for ; more && err == nil; more, err = s.NextElement() {
		var o Owner
		if err := o.scan(&s, raw); err != nil {
			return nil, err
		}
		owners = append(owners, o)
	}
	return owners, err
}

func (o *Owner) scan(s *jsonscan.Scanner, b []byte) error {
	return s.Object(func(key jsonscan.Str) (err error) {
		switch {
		case key.Is(b, "apiVersion"):
			o.APIVersion, err = text(s, b)
		case key.Is(b, "kind"):
			o.Kind, err = text(s, b)
		case key.Is(b, "name"):
			o.Name, err = text(s, b)
		case key.Is(b, "uid"):
			o.UID, err = text(s, b)
		case key.Is(b, "controller"):
			var v jsonscan.Range
			v, err = s.Value()
			o.Controller = err == nil && string(v.Of(b)) == "true"
		default:
			_, err = s.Value()
		}
		return err
	})
}

// ControllerOf is the owner that manages the object: the one marked controller,
// else the first. ok is false without owners.
func ControllerOf(raw []byte) (owner Owner, ok bool, err error) {
	owners, err := Owners(raw)
	if err != nil || len(owners) == 0 {
		return Owner{}, false, err
	}
	for _, o := range owners {
		if o.Controller {
			return o, true, nil
		}
	}
	return owners[0], true, nil
}
