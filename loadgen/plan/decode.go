package plan

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxFileBytes bounds a plan file; a real one has less than 2 KiB.
const maxFileBytes = 1 << 20

// ReadFile decodes and validates the plan file at path.
func ReadFile(path string) (Config, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Config{}, fmt.Errorf("reading the plan: %w", err)
	}
	if info.Size() > maxFileBytes {
		return Config{}, fmt.Errorf("%s: %d bytes are too many for a plan (limit %d)", path, info.Size(), maxFileBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("reading the plan: %w", err)
	}
	return Parse(path, data)
}

// Parse decodes YAML (or JSON, its subset) over the defaults and validates it. An
// error is one line that begins with name:line where the place is known.
func Parse(name string, data []byte) (Config, error) {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return Config{}, placed(name, err)
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			bodies = append(bodies, doc.Body)
		}
	}
	switch {
	case len(bodies) == 0:
		return Config{}, fmt.Errorf("%s: the plan is empty: at least runID and model are needed", name)
	case len(bodies) > 1:
		return Config{}, fmt.Errorf("%s: %d YAML documents: a plan is one", name, len(bodies))
	}
	cfg := Default()
	if err := checkShape(bodies[0], reflect.TypeFor[Config](), ""); err != nil {
		return Config{}, fmt.Errorf("%s:%w", name, err)
	}
	if err := yaml.UnmarshalWithOptions(data, &cfg, yaml.Strict()); err != nil {
		return Config{}, placed(name, err)
	}
	if err := cfg.Validate(); err != nil {
		if line := lineOf(file, err); line > 0 {
			return Config{}, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		return Config{}, fmt.Errorf("%s: %w", name, err)
	}
	return cfg, nil
}

// Marshal renders a Config as a plan file.
func Marshal(cfg Config) ([]byte, error) {
	out, err := yaml.Marshal(cfg)
	if err != nil {
		return nil, fmt.Errorf("rendering the plan: %w", err)
	}
	return out, nil
}

// placed is a decoder's error on one line, with its line number.
func placed(name string, err error) error {
	var at yaml.Error
	if !errors.As(err, &at) {
		return fmt.Errorf("%s: %s", name, oneLine(err.Error()))
	}
	line := 0
	if token := at.GetToken(); token != nil && token.Position != nil {
		line = token.Position.Line
	}
	return fmt.Errorf("%s:%d: %s", name, line, oneLine(at.GetMessage()))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// lineOf finds where the field of a FieldError stands; 0 when the file does not
// mention it. A missing nested field is looked up at its parent.
func lineOf(file *ast.File, err error) int {
	var wrong *FieldError
	if !errors.As(err, &wrong) {
		return 0
	}
	for field := wrong.Field; field != ""; {
		if path, err := yaml.PathString("$." + field); err == nil {
			if node, err := path.FilterFile(file); err == nil && node != nil && node.GetToken() != nil {
				return node.GetToken().Position.Line
			}
		}
		cut := strings.LastIndexAny(field, ".[")
		if cut < 0 {
			return 0
		}
		field = field[:cut]
	}
	return 0
}
