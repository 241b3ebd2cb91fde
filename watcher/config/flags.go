package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Flags are the command line of the watcher: a flag overrides the key of its name
// in the main file. "_" and "-" are the same in a flag's name.
type Flags struct {
	// File is the main file.
	File string
}

// Set defines the flags.
func (f *Flags) Set(program string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(program, pflag.ContinueOnError)
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "-", "_"))
	})
	defaults := Default()
	bind(fs, &defaults)
	fs.StringVarP(&f.File, "file", "f", "", "the configuration file (JSON)")
	// As with the keys of these names, their values do not matter.
	for _, name := range unusedKeys {
		fs.String(name, "", "accepted for compatibility, no effect")
	}
	for _, name := range []string{"logtostderr", "alsologtostderr"} {
		fs.Lookup(name).NoOptDefVal = "true"
	}
	return fs
}

func bind(fs *pflag.FlagSet, c *Config) {
	fs.StringVar(&c.Address, "address", c.Address, "address of the HTTP servers")
	fs.Uint16Var(&c.Port, "port", c.Port, "port of health and, with debug_mode, pprof")
	fs.Uint16Var(&c.MetricPort, "metric_port", c.MetricPort, "port of the metrics")
	fs.StringVar(&c.CAFile, "ca_file", c.CAFile, "CA of client certificates; with it they are required")
	fs.StringVar(&c.ServerCertFile, "server_cert_file", c.ServerCertFile, "certificate of the HTTP servers")
	fs.StringVar(&c.ServerKeyFile, "server_key_file", c.ServerKeyFile, "key of the HTTP servers")
	fs.BoolVar(&c.DebugMode, "debug_mode", c.DebugMode, "serve pprof on port")
	fs.StringVar(&c.FilterConfigPath, "filterConfigPath", c.FilterConfigPath, "the filter file (JSON)")
	fs.IntVarP(&c.Verbosity, "v", "v", c.Verbosity, "log level; from 4 on log each list and watch that fails or ends")
}

// Load reads the files that the parsed flags name.
func (f *Flags) Load(fs *pflag.FlagSet) (cfg Config, filter Filter, warnings []string, err error) {
	if fs.NArg() > 0 {
		return cfg, filter, nil, fmt.Errorf("unexpected argument %q: the configuration file is given with -f", fs.Arg(0))
	}
	if f.File == "" {
		return cfg, filter, nil, fmt.Errorf("no configuration file: give one with -f FILE")
	}
	cfg, warnings, err = Load(f.File)
	if err != nil {
		return cfg, filter, nil, err
	}
	keys := pflag.NewFlagSet("", pflag.ContinueOnError)
	bind(keys, &cfg)
	fs.Visit(func(fl *pflag.Flag) {
		if key := keys.Lookup(fl.Name); key != nil {
			err = errors.Join(err, key.Value.Set(fl.Value.String()))
		} else if slices.Contains(unusedKeys, fl.Name) {
			warnings = append(warnings, "--"+fl.Name+": has no effect")
		}
	})
	if err != nil {
		return cfg, filter, nil, err
	}
	cfg.normalise(func(path, why string) { warnings = append(warnings, path+": "+why) })
	if cfg.FilterConfigPath == "" {
		return cfg, filter, nil, &Error{File: f.File, Key: "filterConfigPath",
			Msg: "missing: the filter file says what is watched"}
	}
	filter, more, err := LoadFilter(cfg.FilterConfigPath)
	return cfg, filter, append(warnings, more...), err
}
