package config

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Flags are the command line of the watcher: a flag overrides the key of its name
// in the main file. "_" and "-" are the same in a flag's name.
type Flags struct {
	// File is the main file.
	File string
	over Config
}

// Set defines the flags.
func (f *Flags) Set(program string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(program, pflag.ContinueOnError)
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "-", "_"))
	})
	d, o := Default(), &f.over
	fs.StringVarP(&f.File, "file", "f", "", "the configuration file (JSON)")
	fs.StringVar(&o.Address, "address", d.Address, "address of the HTTP servers")
	fs.Uint16Var(&o.Port, "port", d.Port, "port of health and, with debug_mode, pprof")
	fs.Uint16Var(&o.MetricPort, "metric_port", d.MetricPort, "port of the metrics")
	fs.StringVar(&o.CAFile, "ca_file", "", "CA of client certificates; with it they are required")
	fs.StringVar(&o.ServerCertFile, "server_cert_file", "", "certificate of the HTTP servers")
	fs.StringVar(&o.ServerKeyFile, "server_key_file", "", "key of the HTTP servers")
	fs.BoolVar(&o.DebugMode, "debug_mode", false, "serve pprof on port")
	fs.StringVar(&o.FilterConfigPath, "filterConfigPath", "", "the filter file (JSON)")
	fs.IntVar(&o.Verbosity, "v", 0, "log level; 4 and more shows each event")
	for _, name := range []string{"log_dir", "pid_dir", "stderrthreshold", "vmodule", "log_backtrace_at"} {
		fs.String(name, "", "accepted for compatibility, no effect")
	}
	for _, name := range []string{"log_max_size", "log_max_num"} {
		fs.Uint(name, 0, "accepted for compatibility, no effect")
	}
	for _, name := range []string{"logtostderr", "alsologtostderr"} {
		fs.Bool(name, false, "accepted for compatibility, no effect")
	}
	return fs
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
	fs.Visit(func(fl *pflag.Flag) { f.override(&cfg, fl.Name) })
	if cfg.FilterConfigPath == "" {
		return cfg, filter, nil, &Error{File: f.File, Key: "filterConfigPath", Msg: "missing: the filter file says what is watched"}
	}
	filter, more, err := LoadFilter(cfg.FilterConfigPath)
	return cfg, filter, append(warnings, more...), err
}

func (f *Flags) override(c *Config, name string) {
	switch name {
	case "address":
		c.Address = f.over.Address
	case "port":
		c.Port = f.over.Port
	case "metric_port":
		c.MetricPort = f.over.MetricPort
	case "ca_file":
		c.CAFile = f.over.CAFile
	case "server_cert_file":
		c.ServerCertFile = f.over.ServerCertFile
	case "server_key_file":
		c.ServerKeyFile = f.over.ServerKeyFile
	case "debug_mode":
		c.DebugMode = f.over.DebugMode
	case "filterConfigPath":
		c.FilterConfigPath = f.over.FilterConfigPath
	case "v":
		c.Verbosity = f.over.Verbosity
	}
}
