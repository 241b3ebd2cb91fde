package oplog

import (
	"encoding/json"
	"strconv"
)

// appendRecord encodes r as encoding/json does, at a fraction of its cost: this
// runs once per operation inside the load.
func appendRecord(b []byte, r *Record) []byte {
	b = append(b, '{')
	b = appendInt(b, "id", r.ID, keep)
	b = appendInt(b, "attempt", int64(r.Attempt), omitZero)
	b = appendText(b, "phase", r.Phase, keep)
	b = appendText(b, "type", r.Type, keep)
	b = appendInt(b, "thread", int64(r.Thread), keep)
	if r.Bystander {
		b = append(b, `"bystander":true,`...)
	}
	b = appendText(b, "kind", r.Kind, keep)
	b = appendText(b, "namespace", r.Namespace, omitZero)
	b = appendText(b, "name", r.Name, keep)
	b = appendText(b, "uid", r.UID, omitZero)
	if r.ResourceVersion != 0 {
		b = append(b, `"resourceVersion":`...)
		b = append(strconv.AppendUint(b, r.ResourceVersion, 10), ',')
	}
	if r.DeletedVersion != 0 {
		b = append(b, `"deletedVersion":`...)
		b = append(strconv.AppendUint(b, r.DeletedVersion, 10), ',')
	}
	b = appendInt(b, "intended", r.Intended, keep)
	b = appendInt(b, "started", r.Started, keep)
	b = appendInt(b, "finished", r.Finished, keep)
	b = appendInt(b, "status", int64(r.Status), keep)
	b = appendText(b, "error", r.Error, omitZero)
	b[len(b)-1] = '}' // the last field's comma
	return append(b, '\n')
}

type emptiness bool

const (
	keep     emptiness = false
	omitZero emptiness = true
)

func appendInt(b []byte, key string, v int64, empty emptiness) []byte {
	if v == 0 && empty == omitZero {
		return b
	}
	b = append(append(append(b, '"'), key...), `":`...)
	return append(strconv.AppendInt(b, v, 10), ',')
}

func appendText(b []byte, key, v string, empty emptiness) []byte {
	if v == "" && empty == omitZero {
		return b
	}
	b = append(append(append(b, '"'), key...), `":`...)
	if plain(v) {
		b = append(append(append(b, '"'), v...), '"')
	} else {
		quoted, _ := json.Marshal(v) // a string always encodes
		b = append(b, quoted...)
	}
	return append(b, ',')
}

// plain reports whether v needs no escaping.
func plain(v string) bool {
	for i := range len(v) {
		if c := v[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}
