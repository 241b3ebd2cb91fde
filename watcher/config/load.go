package config

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/userfile"
	"github.com/watchbench/watchbench/watcher/leader"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// maxFile bounds both files, in bytes.
const maxFile = 4 << 20

// Keys that the original parses and does not use, and those of its log and pid
// files: this watcher logs to standard error and writes neither.
var unusedKeys = []string{
	"log_dir", "log_max_size", "log_max_num", "logtostderr", "alsologtostderr", "pid_dir",
	"ipv6_address", "insecure_address", "insecure_port", "external_ip", "external_ipv6", "external_port",
	"stderrthreshold", "vmodule", "log_backtrace_at",
}

// originalKeys are the keys of the original that mean something here (contract §7), in
// lower case. The original ignores a misspelt one, so a file with it must not end the
// start; a misspelt key of our own is in no file that the original reads. A misspelt
// resourceMaskers is an error all the same: its fields would leave.
var originalKeys = []string{
	"default", "default.clusterid", "default.hostip", "default.environment",
	"watch_resource", "watch_resource.namespace", "watch_resource.disable_crd", "watch_resource.disable_netservice",
	"watch_resource.label_selectors",
	"bcs", "bcs.zk", "bcs.netservice-zookeepers", "bcs.custom-storage-endpoints", "bcs.custom-storage-endpoints-token",
	"bcs.custom-netservice-endpoints", "bcs.is-external",
	"bcs.tls", "bcs.tls.ca-file", "bcs.tls.cert-file", "bcs.tls.key-file", "bcs.tls.password", "bcs.writerqueuelen",
	"bcs.podqueuenum",
	"k8s", "k8s.kubeconfig", "k8s.master", "k8s.tls", "k8s.tls.ca-file", "k8s.tls.cert-file", "k8s.tls.key-file",
	"k8s.tls.password",
	"filterconfigpath", "address", "port", "metric_port", "ca_file", "server_cert_file", "server_key_file", "debug_mode",
	"v",
	"k8sresourcewhitelist", "crdresourcewhitelist", "crdversionsupport", "resourcenamespacefilters", "resourcenamefilters",
	"isfiltermanagedfields",
	"apiresourceexception", "apiresourceexception[].groupversion", "apiresourceexception[].resourcekinds",
	"apiresourcespecification", "apiresourcespecification[].groupversion", "apiresourcespecification[].resourcekinds",
	"apiresourcelists",
}

// Original reports whether a key of one of the files, such as bcs.podQueueNum, is one of
// the original that means something here.
func Original(key string) bool {
	return slices.Contains(originalKeys, index.ReplaceAllString(strings.ToLower(key), "[]"))
}

// Load reads and checks the main file. The warnings name keys that have no effect.
func Load(path string) (cfg Config, warnings []string, err error) {
	data, err := readFile(path)
	if err != nil {
		return cfg, nil, err
	}
	return Parse(path, data)
}

// Parse is Load on bytes; errors name the file so.
func Parse(name string, data []byte) (cfg Config, warnings []string, err error) {
	cfg = Default()
	d, err := decode(name, data, &cfg, unusedKeys...)
	if err != nil {
		return cfg, nil, err
	}
	cfg.normalise(d.ignore)
	d.ignoreQueueKeys(cfg.BCS)
	if cfg.Shards < 2 && d.lines["shardby"] > 0 {
		d.ignore("shardBy", "has no effect without shards")
	}
	if cfg.Shards > 1 && cfg.ResourceWatcher.Enabled && len(cfg.ResourceWatcher.Watches.Pinned) > 0 {
		d.ignore("resourceWatcher.watches.pinned", "shards do not divide these kinds: each replica keeps all of them")
	}
	if cfg.K8s.TLS.Password != "" {
		d.ignore("k8s.tls.password", "has no effect: the key of k8s.tls must not be encrypted")
	}
	if key, msg := cfg.check(); msg != "" {
		return cfg, nil, d.fail(key, msg)
	}
	return cfg, d.warnings(), nil
}

func (d *decoder) ignoreQueueKeys(b BCS) {
	given := func(key string) bool { return d.lines[strings.ToLower(key)] > 0 }
	if given("bcs.queueFullTimeout") && b.QueueFull != pipeline.Drop {
		d.ignore("bcs.queueFullTimeout", `has no effect without bcs.queueFull "drop"`)
	}
	if given("bcs.podQueueNum") && b.Strategy == pipeline.Single {
		d.ignore("bcs.podQueueNum", `has no effect with bcs.strategy "single", which has one queue per kind`)
	}
	if b.QueueFull == pipeline.Block && b.EventQueueLen > b.HandlerQueueLen {
		d.ignore("bcs.queueFull", fmt.Sprintf("blocks the watch of Events, too: bcs.eventQueueLen, %d, at which the oldest "+
			"would be dropped, is more than bcs.handlerQueueLen, %d", b.EventQueueLen, b.HandlerQueueLen))
	}
}

// normalise puts in order what the original starts with, and says what it changed.
func (c *Config) normalise(say func(path, why string)) {
	c.BCS.WriterQueueLen = max(c.BCS.WriterQueueLen, DefaultWriterQueueLen)
	for path, n := range map[string]struct {
		value *int
		most  int
	}{"bcs.writerQueueLen": {&c.BCS.WriterQueueLen, pipeline.MaxQueueLen},
		"bcs.podQueueNum": {&c.BCS.PodQueueNum, pipeline.MaxPodQueueNum}} {
		if *n.value > n.most {
			say(path, fmt.Sprintf("%d is more than there can be, using %d", *n.value, n.most))
			*n.value = n.most
		}
	}
	c.BCS.CustomStorageEndpoints.normalise(func(why string) { say("bcs.custom-storage-endpoints", why) })
	c.BCS.CustomNetServiceEndpoints.normalise(func(why string) { say("bcs.custom-netservice-endpoints", why) })
	if (c.ServerCertFile == "") != (c.ServerKeyFile == "") {
		say("server_cert_file", "has no effect without server_key_file, nor the other way round: health and metrics are "+
			"served without TLS")
		c.ServerCertFile, c.ServerKeyFile = "", ""
	}
	if c.BCS.NetServiceZooKeepers == "" {
		c.BCS.NetServiceZooKeepers = c.BCS.ZK
	}
}

func (c *Config) check() (key, msg string) {
	b := c.BCS
	for _, s := range []struct{ key, value string }{
		{"default.clusterID", c.Default.ClusterID},
		{"bcs.zk", b.ZK},
		{"bcs.netservice-zookeepers", b.NetServiceZooKeepers},
		{"bcs.custom-storage-endpoints", strings.Join(b.CustomStorageEndpoints, ",")},
		{"bcs.custom-netservice-endpoints", strings.Join(b.CustomNetServiceEndpoints, ",")},
		{"k8s.master", c.K8s.Master},
		{"watch_resource.namespace", c.WatchResource.Namespace},
		{"address", c.Address},
	} {
		if strings.ContainsAny(s.value, "${}") {
			return s.key, fmt.Sprintf(
				"%q looks like a template that was not rendered: want the value itself, without $, { and }", s.value)
		}
	}
	switch {
	case c.Profile == "legacy":
		return "profile", "legacy is a program of its own: leave the key out, and run watchlegacy -f with this file"
	case strings.ContainsAny(c.Address, ":/[] ") && net.ParseIP(c.Address) == nil:
		return "address", fmt.Sprintf("%q: want an IP address or a host name; port and metric_port are keys of their own",
			c.Address)
	case c.Profile != profileDefault:
		return "profile", fmt.Sprintf("unknown profile %q, want %s", c.Profile, profileDefault)
	case c.Default.ClusterID == "":
		return "default.clusterID", "missing: it is part of every storage URL, for instance \"BCS-K8S-00000\""
	case strings.ContainsAny(c.Default.ClusterID, "/?#% "):
		return "default.clusterID",
			fmt.Sprintf("%q cannot be part of a URL: use letters, digits and \"-\"", c.Default.ClusterID)
	case len(b.CustomStorageEndpoints) == 0 && b.ZK == "":
		return "bcs.custom-storage-endpoints", "missing: name at least one http://host:port"
	case b.StorageTimeout <= 0:
		return "bcs.storageTimeout", "want a positive duration such as \"5s\""
	case c.K8s.ReadPace < 0 || c.K8s.ReadPace > Duration(time.Second):
		return "k8s.readPace", "want a duration of 0 to 1 s such as \"20ms\""
	case c.Synchronizer.Period < Duration(time.Second):
		return "synchronizer.period", "want a duration of at least \"1s\"; to do without, set synchronizer.disabled to true"
	case c.Synchronizer.Name == "" || strings.ContainsAny(c.Synchronizer.Name, "/?#% "):
		return "synchronizer.name",
			fmt.Sprintf("%q cannot be part of a URL: use letters, digits and \"-\"", c.Synchronizer.Name)
	case c.CacheCheck.Period != 0 && c.CacheCheck.Period < Duration(time.Second):
		return "cacheCheck.period", "want a duration of at least \"1s\"; \"0s\" never compares"
	case c.CacheCheck.Grace < Duration(time.Second):
		return "cacheCheck.grace", "want a duration of at least \"1s\""
	case b.CustomStorageToken != "" && b.CustomStorageTokenFile != "":
		return "bcs.custom-storage-endpoints-tokenFile", "there is bcs.custom-storage-endpoints-token, too: give one of them"
	case !bearerToken.MatchString(b.CustomStorageToken):
		return "bcs.custom-storage-endpoints-token", "is not valid in a header: want letters, digits and any of -._~+/="
	case b.ZKPassword != "" && b.ZKUser == "":
		return "bcs.zkPassword", "needs bcs.zkUser"
	case strings.Contains(b.ZKUser, ":"):
		return "bcs.zkUser", "must not contain \":\", which separates user and password in a digest"
	case c.LeaderElection.Enabled && len(validation.IsDNS1123Label(c.LeaderElection.Namespace)) > 0:
		return "leaderElection.namespace", fmt.Sprintf("%q is not a namespace: want lower-case letters, digits and \"-\", "+
			"63 at most", c.LeaderElection.Namespace)
	case c.LeaderElection.Enabled && len(validation.IsDNS1123Subdomain(c.LeaderElection.Name)) > 0:
		return "leaderElection.name", fmt.Sprintf("%q is not a name for a Lease: want lower-case letters, digits, \"-\" and "+
			"\".\", such as \"k8s-watch\"", c.LeaderElection.Name)
	}
	if key, msg := c.checkShards(); key != "" {
		return key, msg
	}
	if queues, wrong := errors.AsType[*pipeline.FieldError](c.Pipeline().Validate()); wrong {
		return "bcs." + queues.Field, queues.Problem
	}
	for _, l := range []struct {
		key   string
		addrs List
	}{
		{"bcs.custom-storage-endpoints", b.CustomStorageEndpoints},
		{"bcs.custom-netservice-endpoints", b.CustomNetServiceEndpoints},
	} {
		for _, e := range l.addrs {
			u, err := url.Parse(e)
			switch {
			case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
				return l.key, fmt.Sprintf("%q is not an address, want http://host:port or https://host:port", e)
			case u.User != nil || u.RawQuery != "" || u.Fragment != "":
				return l.key, fmt.Sprintf("%q: an address has a path at most, no user and no query", e)
			case !isPort(u.Port()):
				return l.key, fmt.Sprintf("%q: a port is a number from 1 to 65535", e)
			}
		}
	}
	for _, z := range []struct {
		key, hosts string
		used       bool
	}{
		{"bcs.zk", b.ZK, len(b.CustomStorageEndpoints) == 0},
		{"bcs.netservice-zookeepers", b.NetServiceZooKeepers, !c.WatchResource.DisableNetService &&
			len(b.CustomNetServiceEndpoints) == 0},
	} {
		for h := range strings.SplitSeq(z.hosts, ",") {
			host, port, err := net.SplitHostPort(strings.TrimSpace(h))
			if err != nil {
				host, port = strings.TrimSpace(h), ""
			}
			if z.used && (strings.ContainsAny(host, "/ ") || !isPort(port)) {
				return z.key, fmt.Sprintf(
					"%q is not a ZooKeeper host: want host:port, several with commas, without scheme and path", h)
			}
		}
	}
	if ns := c.WatchResource.Namespace; ns != "" && len(validation.IsDNS1123Label(ns)) > 0 {
		return "watch_resource.namespace", fmt.Sprintf("%q is not a namespace: want the name of one, or nothing for all", ns)
	}
	if key, msg := c.ResourceWatcher.check(); key != "" {
		return key, msg
	}
	for kind, sel := range c.WatchResource.LabelSelectors {
		if _, err := labels.Parse(sel); err != nil {
			return "watch_resource.label_selectors." + kind, fmt.Sprintf("%q is not a label selector: %v", sel, err)
		}
	}
	if !c.WatchResource.DisableNetService && b.NetServiceZooKeepers == "" && len(b.CustomNetServiceEndpoints) == 0 {
		return "bcs.netservice-zookeepers", "missing: name ZooKeeper hosts, or bcs.custom-netservice-endpoints, or set " +
			"watch_resource.disable_netservice to true"
	}
	return "", ""
}

// longestShared is the longest name of a Lease with shards: it is a label, too, and has suffixes.
const longestShared = 50

func (c *Config) checkShards() (key, msg string) {
	if !slices.Contains([]kubeapi.By{kubeapi.ByName, kubeapi.ByNamespace, kubeapi.ByUID}, c.ShardBy) {
		return "shardBy", fmt.Sprintf("%q: want name, namespace or uid", c.ShardBy)
	}
	switch {
	case c.Shards < 0 || c.Shards > leader.MostShards:
		return "shards", fmt.Sprintf("%d: want 0 to %d", c.Shards, leader.MostShards)
	case c.Shards < 2:
		return "", ""
	case !c.LeaderElection.Enabled:
		return "shards", "needs leaderElection.enabled: a Lease for each shard says who has it"
	case len(c.LeaderElection.Name) > longestShared:
		return "leaderElection.name", fmt.Sprintf("has %d characters: with shards at most %d", len(c.LeaderElection.Name),
			longestShared)
	case c.ShardBy == kubeapi.ByUID && !c.BCS.Conditional:
		return "shardBy", "uid needs bcs.conditional: a recreated object has another uid, and without preconditions " +
			"two shards would overwrite each other's row; use name or namespace"
	case c.ResourceWatcher.Enabled && len(c.ResourceWatcher.Notify.Subscriptions) > 0:
		return "resourceWatcher.notify.subscriptions", "cannot be delivered with shards, as no replica leads: leave shards " +
			"out, or the subscriptions"
	}
	return "", ""
}

func isPort(s string) bool {
	n, err := strconv.Atoi(s)
	return s == "" || err == nil && n >= 1 && n <= 65535
}

// bearerToken matches a token as RFC 6750 defines it, or nothing.
var bearerToken = regexp.MustCompile(`^[A-Za-z0-9._~+/-]*=*$`)

// LoadFilter reads and checks the filter file.
func LoadFilter(path string) (f Filter, warnings []string, err error) {
	data, err := readFile(path)
	if err != nil {
		return f, nil, err
	}
	return ParseFilter(path, data)
}

// ParseFilter is LoadFilter on bytes; errors name the file so.
func ParseFilter(name string, data []byte) (f Filter, warnings []string, err error) {
	d, err := decode(name, data, &f)
	if err != nil {
		return f, nil, err
	}
	for i, gv := range f.K8sResourceWhiteList {
		if _, err := schema.ParseGroupVersion(gv); err != nil || gv == "" {
			d.ignore(fmt.Sprintf("k8sResourceWhiteList[%d]", i),
				fmt.Sprintf("%q is not a group-version such as \"v1\" or \"apps/v1\", nothing matches it", gv))
		}
	}
	for i, gv := range f.CRDResourceWhiteList {
		if parsed, err := schema.ParseGroupVersion(gv); err != nil || parsed.Group == "" {
			d.ignore(fmt.Sprintf("crdResourceWhiteList[%d]", i),
				fmt.Sprintf("%q is not a group/version such as \"tkex.tencent.com/v1alpha1\", nothing matches it", gv))
		}
	}
	for i, m := range f.ResourceMaskers {
		if m.Kind == "" || len(m.Path) == 0 || slices.Contains(m.Path, "") {
			return f, nil, d.fail(fmt.Sprintf("resourceMaskers[%d]", i),
				"want a kind and a path of at least one non-empty element; as it is, nothing would be masked")
		}
	}
	if d.lines["keepmanagedfields"] > 0 {
		if line := d.lines["isfiltermanagedfields"]; line > 0 && f.KeepAlias != f.KeepManagedFields {
			return f, nil, d.fail("keepManagedFields", fmt.Sprintf("%t contradicts isFilterManagedFields in line %d, which "+
				"means the same in spite of its name: give one of them", f.KeepAlias, line))
		}
		f.KeepManagedFields, f.KeepAlias = f.KeepAlias, false
	}
	if s := f.CRDVersionSupport; s != "" && s != "v1" {
		d.ignore("crdVersionSupport", fmt.Sprintf("%q has no effect: definitions are read as apiextensions.k8s.io/v1", s))
	}
	if len(f.APIResourceLists) > 0 {
		d.ignore("apiResourceLists", "has no effect: what discovery did not report is asked for again")
	}
	return f, d.warnings(), nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &Error{File: path, Msg: "cannot be read: " + cause(err)}
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, &Error{File: path, Msg: "cannot be read: " + cause(err)}
	}
	if len(data) > maxFile {
		return nil, &Error{File: path, Msg: fmt.Sprintf("larger than %d bytes: is it the right file?", maxFile)}
	}
	if data, err = userfile.UTF8(data); err != nil {
		return nil, &Error{File: path, Line: userfile.Line(err), Msg: err.Error()}
	}
	return data, nil
}

func cause(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
