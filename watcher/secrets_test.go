package watcher_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/watcher"
	"github.com/watchbench/watchbench/watcher/config"
)

// marker stands for a password or a token. It is a path of no file, a token by its letters,
// and nothing else.
const marker = "hunter2-eyJhbGci"

// leaves calls visit with the path of each key of a type, [] for an element of a list.
func leaves(t reflect.Type, path []string, visit func(path []string, t reflect.Type)) {
	switch {
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			at := append(slices.Clone(path), name)
			visit(at, t.Field(i).Type)
			leaves(t.Field(i).Type, at, visit)
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		leaves(t.Elem(), append(slices.Clone(path), "[]"), visit)
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map:
		visit(append(slices.Clone(path), map[reflect.Kind]string{reflect.Slice: "[]", reflect.Map: "Pod"}[t.Kind()]), t.Elem())
	}
}

// put sets the value at a path, making what is on the way.
func put(into map[string]any, path []string, value any) {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == "[]" {
			value = []any{value}
			continue
		}
		if i == 1 {
			if m, ok := into[path[0]].(map[string]any); ok {
				m = maps.Clone(m)
				m[path[i]] = value
				value = m
				break
			}
		}
		value = map[string]any{path[i]: value}
	}
	into[path[0]] = value
}

// holders are the values in which a secret may stand where any value is expected.
func holders(path []string) []any {
	all := []any{
		"http://user:" + marker + "@127.0.0.1:1", "http://user:" + marker + "@127.0.0.1:99999", "https://" + marker + "@h/", "user:" + marker + "@h:1", marker + "@h",
		"http://user:a b" + marker + "@h:1", "http://user:a/" + marker + "@h:1", "http://h:1,http://user:" + marker + "@h:1", "http://user:%zz" + marker + "@h:1", "http://${USER}:" + marker + "@h:1",
		"http://127.0.0.1:1/?token=" + marker, "http://127.0.0.1:1/#a?x=1&access_token=" + marker,
		[]any{marker}, map[string]any{"value": marker}, []any{map[string]any{"password": marker}}, map[string]any{"password": map[string]any{"is": marker}},
	}
	if name := strings.ToLower(strings.Join(path, ".")); strings.Contains(name, "password") || strings.Contains(name, "token") {
		all = append(all, marker, marker+"\n", " "+marker, marker+"\n"+marker, marker+"ü", marker+"!", "Bearer "+marker, "${"+marker+"}")
	}
	return all
}

// TestSecretsStaySecret: whatever key of either file holds a password or a token, be it of
// the wrong type, nothing that is said of the configuration repeats it.
func TestSecretsStaySecret(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel() // nothing is asked of a network
	tried, said := 0, 0
	try := func(path []string, ofFilter bool, value any) {
		main := map[string]any{
			"default": map[string]any{"clusterID": "c"}, "watch_resource": map[string]any{"disable_netservice": true},
			"bcs": map[string]any{"custom-storage-endpoints": "http://127.0.0.1:1"}, "k8s": map[string]any{},
			"filterConfigPath": "filter.json",
		}
		filter := map[string]any{"k8sResourceWhiteList": []any{"v1"}}
		into := main
		if ofFilter {
			into = filter
		}
		put(into, path, value)
		out := speak(over, t, main, filter)
		tried++
		if out != "" {
			said++
		}
		if strings.Contains(out, marker) {
			text, _ := json.Marshal(value)
			t.Errorf("%s: %s tells the secret: %s", strings.Join(path, "."), text, out)
		}
	}
	for ofFilter, typ := range map[bool]reflect.Type{false: reflect.TypeFor[config.Config](), true: reflect.TypeFor[config.Filter]()} {
		leaves(typ, nil, func(path []string, leaf reflect.Type) {
			strings := leaf.Kind() == reflect.Slice && leaf.Elem().Kind() == reflect.String
			for _, value := range holders(path) {
				if list, ok := value.([]any); !ok || !strings || list[0] != marker { // that would be right
					try(path, ofFilter, value)
				}
			}
			if leaf.Kind() != reflect.String && leaf != reflect.TypeFor[config.List]() {
				try(path, ofFilter, marker)
			}
		})
	}
	// Keys that are none, beside those that are.
	for _, path := range [][]string{{"bcs", "zkPasword"}, {"bcs", "custom-storage-endpoints-tokn"}, {"bcs", "tls", "pasword"}, {"pasword"}, {"resourceMasker"}} {
		for _, value := range append(holders([]string{"password"}), []any{marker}) {
			try(path, false, value)
			try(path, true, value)
		}
	}
	if tried < 1000 || said < tried/2 {
		t.Errorf("%d configurations tried, %d had an answer: the test sees too little", tried, said)
	}
}

// speak reads a configuration as a start and a check do and returns all that is said.
func speak(ctx context.Context, t *testing.T, main, filter map[string]any) string {
	t.Helper()
	text := func(v any) []byte {
		data, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var log bytes.Buffer
	cfg, warnings, err := config.Parse("config.json", text(main))
	f, more, filterErr := config.ParseFilter("filter.json", text(filter))
	out := fmt.Sprint(strings.Join(append(warnings, more...), "\n"), errors.Join(err, filterErr))
	if err != nil || filterErr != nil {
		return out
	}
	if _, err := watcher.New(cfg, f, watcher.Settings{Logger: watcher.NewLogger(&log, 9)}); err != nil {
		out += err.Error()
	}
	plan, err := watcher.MakePlan(ctx, cfg, f)
	return out + fmt.Sprint(plan, err) + log.String()
}

// TestSecretsInFiles: nor does what is in the files that a configuration names.
func TestSecretsInFiles(t *testing.T) {
	dir := t.TempDir()
	secret := base64.StdEncoding.EncodeToString([]byte(marker))
	kubeconfig := func(cluster, user string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{%s}}],"users":[{"name":"u","user":{%s}}],
"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"current-context":"x"}`, cluster, user)
	}
	const server = `"server":"https://127.0.0.1:1"`
	for name, tc := range map[string]struct{ section, key, text string }{
		"token of two lines":       {"bcs", "custom-storage-endpoints-tokenFile", marker + "\n" + marker},
		"user in the server":       {"k8s", "kubeconfig", kubeconfig(`"server":"https://user:`+marker+`@127.0.0.1:1"`, "")},
		"a server that is no URL":  {"k8s", "kubeconfig", kubeconfig(`"server":"https://user:`+marker+`@127.0.0.1:x"`, "")},
		"token with a newline":     {"k8s", "kubeconfig", kubeconfig(server, `"token":"`+marker+`\n`+marker+`"`)},
		"bad base64":               {"k8s", "kubeconfig", kubeconfig(server, `"client-key-data":"`+marker+`!"`)},
		"no key":                   {"k8s", "kubeconfig", kubeconfig(server, `"client-key-data":"`+secret+`","client-certificate-data":"`+secret+`"`)},
		"a list for a token":       {"k8s", "kubeconfig", kubeconfig(server, `"token":["`+marker+`"]`)},
		"an object for a password": {"k8s", "kubeconfig", kubeconfig(server, `"username":"u","password":{"`+marker+`":1}`)},
		"user and token":           {"k8s", "kubeconfig", kubeconfig(server, `"username":"u","password":"`+marker+`","token":"`+marker+`"`)},
		"users that are none":      {"k8s", "kubeconfig", `{"apiVersion":"v1","kind":"Config","users":"` + marker + `"}`},
		"no kubeconfig":            {"k8s", "kubeconfig", "password: " + marker + "\n  token: [" + marker},
		"a token for a kubeconfig": {"k8s", "kubeconfig", marker},
		"a key for a certificate":  {"bcs", "tls.ca-file", marker},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, "f")
			if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			main := map[string]any{
				"default": map[string]any{"clusterID": "c"}, "watch_resource": map[string]any{"disable_netservice": true}, "k8s": map[string]any{"master": "http://127.0.0.1:1"},
				"bcs": map[string]any{"custom-storage-endpoints": "http://127.0.0.1:1"}, "filterConfigPath": "x",
			}
			put(main, append([]string{tc.section}, strings.Split(tc.key, ".")...), file)
			out := speak(t.Context(), t, main, map[string]any{"k8sResourceWhiteList": []any{"v1"}})
			if strings.Contains(out, marker) || strings.Contains(out, secret) || !strings.Contains(out, "127.0.0.1") && !strings.Contains(out, file) && !strings.Contains(out, "kubeconfig") {
				t.Errorf("said: %s", out)
			}
		})
	}
}
