package robustness

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// root is the repository's, seen from this package.
const root = "../.."

// mutate returns the edited text of each file, by its path in the repository.
func (m mutant) mutate() (map[string]string, error) {
	files := map[string]string{}
	for _, e := range m.Edits {
		text, ok := files[e.File]
		if !ok {
			data, err := os.ReadFile(filepath.Join(root, e.File))
			if err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
			}
			text = string(data)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return nil, fmt.Errorf("mutant %s: %s holds this text %d times, not once; fit the edit to the code:\n%s", m.Name, e.File, n, e.Old)
		}
		files[e.File] = strings.Replace(text, e.Old, e.New, 1)
	}
	return files, nil
}

// overlay writes the edited files and the list of them for go build -overlay below dir, and returns the list's path.
func (m mutant) overlay(dir string) (string, error) {
	files, err := m.mutate()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, m.Name)
	replace := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		from, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		// Not a .go file: below out/, the linter would take it for a package of ours.
		to := filepath.Join(dir, strings.ReplaceAll(name, "/", "_")+".txt")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(to, []byte(files[name]), 0o644); err != nil {
			return "", err
		}
		replace[from] = to
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, data, 0o644)
}

// build compiles packages of the repository, with an overlay if there is one, and writes commands to out, nothing if
// that is empty.
func build(ctx context.Context, overlay, out string, packages ...string) error {
	args := []string{"build"}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	if out != "" {
		args = append(args, "-o", out)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(cmd.Args[1:], " "), err, text)
	}
	return nil
}

// packages are those that the mutant changes.
func (m mutant) packages() (all []string) {
	for _, e := range m.Edits {
		if p := "./" + path.Dir(e.File); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}
