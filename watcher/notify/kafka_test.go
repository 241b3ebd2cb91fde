package notify_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/watchbench/watchbench/watcher/notify"
	"github.com/watchbench/watchbench/watcher/setting"
)

// kfake speaks the protocol over real sockets from one process. It has no replication: that acks of all replicas mean
// anything more than one of the leader is not tested here, nor are elections and a broker's own loss of data.

func kafkaCluster(t *testing.T, more ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c := must(kfake.NewCluster(append([]kfake.Opt{kfake.SeedTopics(5, "events")}, more...)...))
	t.Cleanup(c.Close)
	return c
}

func kafkaTarget(t *testing.T, c *kfake.Cluster, cfg notify.Kafka) *notify.KafkaTarget {
	t.Helper()
	cfg.Brokers = c.ListenAddrs()
	if cfg.Topic == "" {
		cfg.Topic = "events"
	}
	if cfg.Allow == nil {
		cfg.Allow = []string{"127.0.0.0/8"}
	}
	made := must(notify.NewKafka(cfg))
	t.Cleanup(made.Close)
	return made
}

func kafkaEvent(object, version int) notify.Event {
	uid := fmt.Sprintf("u%d", object)
	return notify.Event{
		ID: fmt.Sprintf("%s:%d:MODIFIED", uid, version), Type: "MODIFIED", UID: uid,
		Body: fmt.Appendf(nil, `{"type":"MODIFIED","object":{"v":%d}}`, version),
	}
}

// consume reads n records of the topic.
func consume(t *testing.T, c *kfake.Cluster, n int) (all []*kgo.Record) {
	t.Helper()
	client := must(kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics("events")))
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	for len(all) < n {
		f := client.PollFetches(ctx)
		if err := f.Err(); err != nil {
			t.Fatalf("%d of %d records: %v", len(all), n, err)
		}
		all = append(all, f.Records()...)
	}
	return all
}

// TestKafkaDeliver: under faults of every kind nothing is lost, an object's records are in one
// partition and in order, and there once.
func TestKafkaDeliver(t *testing.T) {
	c := kafkaCluster(t)
	fault := c.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "events", Err: kerr.NotLeaderForPartition, Count: 6},
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "events", Err: kerr.NotEnoughReplicas, Count: 6},
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "events", Err: kerr.NotEnoughReplicasAfterAppend, Count: 6}, // written, and denied
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "events", Err: kerr.RequestTimedOut, Count: 6},
	)
	to := kafkaTarget(t, c, notify.Kafka{})
	const objects, versions = 8, 60
	var wg sync.WaitGroup
	for o := range objects {
		wg.Go(func() {
			for v := 1; v <= versions; v++ {
				for {
					err := to.Deliver(t.Context(), kafkaEvent(o, v))
					if err == nil {
						break
					}
					t.Logf("u%d %d: %v", o, v, err)
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	if fault.Hits() < 24 {
		t.Errorf("%d faults", fault.Hits())
	}
	last, partition := map[string]int{}, map[string]int32{}
	for _, r := range consume(t, c, objects*versions) {
		uid := string(r.Key)
		id, version, _ := strings.Cut(header(r, "id"), ":")
		v, _ := strconv.Atoi(strings.TrimSuffix(version, ":MODIFIED"))
		if id != uid || v != last[uid]+1 || string(r.Value) != string(kafkaEvent(0, v).Body) || header(r, "type") != "MODIFIED" {
			t.Errorf("%s: %s after %d", uid, header(r, "id"), last[uid])
		}
		if p, known := partition[uid]; known && p != r.Partition {
			t.Errorf("%s is in partitions %d and %d", uid, p, r.Partition)
		}
		last[uid], partition[uid] = v, r.Partition
	}
}

func header(r *kgo.Record, key string) string {
	if i := slices.IndexFunc(r.Headers, func(h kgo.RecordHeader) bool { return h.Key == key }); i >= 0 {
		return string(r.Headers[i].Value)
	}
	return ""
}

// TestKafkaRefusals: what each refusal means for the kafkaEvent.
func TestKafkaRefusals(t *testing.T) {
	c := kafkaCluster(t)
	short := setting.Duration(time.Second)
	var permanent *notify.PermanentError
	large := kafkaEvent(1, 1)
	large.Body = make([]byte, 2<<20)
	if err := kafkaTarget(t, c, notify.Kafka{}).Deliver(t.Context(), large); !errors.As(err, &permanent) || permanent.Reason != notify.TooLarge {
		t.Errorf("large: %v", err)
	}
	if err := kafkaTarget(t, c, notify.Kafka{Topic: "none", Timeout: short}).Deliver(t.Context(), kafkaEvent(1, 1)); err == nil || errors.As(err, &permanent) {
		t.Errorf("no topic: %v, want an error that is not for ever", err)
	}
	began := time.Now()
	var unreachable *notify.UnreachableError
	var blocked *notify.BlockedError
	if err := kafkaTarget(t, c, notify.Kafka{Timeout: short, Allow: []string{"10.0.0.0/8"}}).Deliver(t.Context(), kafkaEvent(1, 1)); !errors.As(err, &unreachable) || !errors.As(err, &blocked) {
		t.Errorf("loopback: %v, want that the address is refused", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestLogin: by SCRAM with the password of a file.
func TestLogin(t *testing.T) {
	c := kafkaCluster(t, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-512", "us", "secret"))
	dir := t.TempDir()
	for password, ok := range map[string]bool{"secret\n": true, "other": false} {
		file := filepath.Join(dir, "password")
		if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
			t.Fatal(err)
		}
		to := kafkaTarget(t, c, notify.Kafka{SASL: "scram-sha-512", User: "us", PasswordFile: file, Timeout: setting.Duration(time.Second)})
		err := to.Deliver(t.Context(), kafkaEvent(1, 1))
		if (err == nil) != ok {
			t.Errorf("password %q: %v", password, err)
		}
		if err != nil && strings.Contains(err.Error(), "other") {
			t.Errorf("the error has the password: %v", err)
		}
	}
}

// TestHungBroker: one that takes records and does not answer holds up nothing for longer than
// the timeout, nor the end of the kafkaTarget; what is tried again is there in its order.
func TestHungBroker(t *testing.T) {
	c := kafkaCluster(t)
	to := kafkaTarget(t, c, notify.Kafka{Timeout: setting.Duration(time.Second)})
	if err := to.Deliver(t.Context(), kafkaEvent(1, 1)); err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{}, 16) // some are told twice
	awake := make(chan struct{})
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		select {
		case asked <- struct{}{}:
		default:
		}
		c.SleepControl(func() { <-awake })
		return nil, nil, false
	})
	began := time.Now()
	if err := to.Deliver(t.Context(), kafkaEvent(1, 2)); err == nil {
		t.Error("the broker is silent, and the kafkaEvent was delivered")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("with a timeout of 1s it took %s", took)
	}
	<-asked
	other := kafkaTarget(t, c, notify.Kafka{Timeout: setting.Duration(time.Minute)})
	ended := make(chan error, 1) // the one result
	go func() { ended <- other.Deliver(t.Context(), kafkaEvent(2, 1)) }()
	<-asked
	began = time.Now()
	other.Close()
	if err := <-ended; err == nil {
		t.Error("delivered by a kafkaTarget that is closed")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the end took %s", took)
	}
	close(awake)
	for _, version := range []int{2, 3} {
		for to.Deliver(t.Context(), kafkaEvent(1, version)) != nil {
			time.Sleep(10 * time.Millisecond)
		}
	}
	last := 0
	for _, r := range consume(t, c, 3) {
		_, version, _ := strings.Cut(header(r, "id"), ":")
		if v, _ := strconv.Atoi(strings.TrimSuffix(version, ":MODIFIED")); string(r.Key) == "u1" {
			if v < last {
				t.Errorf("%d after %d", v, last)
			}
			last = v
		}
	}
}
