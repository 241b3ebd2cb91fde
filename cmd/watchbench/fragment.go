package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/search"
	"github.com/watchbench/watchbench/watcher/config"
)

// frame is the least that a configuration needs beside a fragment.
const fragmentFrame = `{
  "default": {"clusterID": "BCS-K8S-00000"},
  "watch_resource": {"disable_netservice": true},
  "bcs": {"custom-storage-endpoints": "http://127.0.0.1:50024"}
}`

// checkFragment reads a fragment back with k8s-watch's own decoder, as a part of a whole
// configuration: each of its values must be in force as it is written. One for the original
// has only keys that the original reads.
func checkFragment(f *result.TuningFragment) error {
	var whole, part map[string]map[string]any
	if err := json.Unmarshal([]byte(fragmentFrame), &whole); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(f.Text), &part); err != nil {
		return fmt.Errorf("%s: %w", f.File, err)
	}
	for section, values := range part {
		for key, v := range values {
			if f.File == search.FileOriginal && !config.Original(section+"."+key) {
				return fmt.Errorf("%s: bcs-k8s-watch has no %s.%s", f.File, section, key)
			}
			if whole[section] == nil {
				whole[section] = map[string]any{}
			}
			whole[section][key] = v
		}
	}
	data, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	cfg, warnings, err := config.Parse(f.File, data)
	if err != nil {
		return fmt.Errorf("the fragment would not start k8s-watch: %w", err)
	}
	if len(warnings) > 0 {
		return fmt.Errorf("the fragment has keys without effect: %s", strings.Join(warnings, "; "))
	}
	return inForce(f.File, part["bcs"], cfg.BCS)
}

func inForce(file string, written map[string]any, read config.BCS) error {
	v := reflect.ValueOf(read)
	for i := range v.NumField() {
		key := v.Type().Field(i).Tag.Get("json")
		want, ok := written[key]
		if got := fmt.Sprint(v.Field(i).Interface()); ok && got != fmt.Sprint(want) {
			return fmt.Errorf("%s: bcs.%s is %v and would be taken as %s", file, key, want, got)
		}
	}
	return nil
}
