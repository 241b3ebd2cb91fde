package kubeapi

import (
	"errors"
	"fmt"
	"math"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// TestSplit: every hash is in one range, and Kubernetes' own code says the same of every uid.
func TestSplit(t *testing.T) {
	for n := range 9 {
		var next uint64
		all := Split(n, ByUID)
		for i, r := range all {
			if r.From != next || r.Last < r.From || i == len(all)-1 && r.Last != math.MaxUint64 {
				t.Fatalf("%d: range %d of %v does not follow the one before", n, i, all)
			}
			next = r.Last + 1
			if read, err := ParseShard(r.String()); err != nil || read != r {
				t.Errorf("%s was read as %v, %v", r, read, err)
			}
		}
		for range 200 {
			uid := uuid.NewUUID()
			held := 0
			for _, r := range all {
				end := "0x10000000000000000"
				if r.Last < math.MaxUint64 {
					end = r.String()[len(r.String())-20 : len(r.String())-2]
				}
				theirs, err := sharding.NewSelector(sharding.ShardRangeRequirement{Key: "object.metadata.uid",
					Start: r.String()[33:51], End: end}).Matches(
					&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: uid}})
				if err != nil {
					t.Fatal(err)
				}
				if theirs != r.Holds("", "", string(uid)) {
					t.Errorf("%s holds %s: %t for us, %t for Kubernetes", r, uid, r.Holds("", "", string(uid)), theirs)
				}
				if theirs {
					held++
				}
			}
			if held != 1 {
				t.Fatalf("%s is in %d of %d ranges", uid, held, n)
			}
		}
	}
}

// TestNamesAreEven: names with running numbers are about as many in each shard.
func TestNamesAreEven(t *testing.T) {
	for _, form := range []string{"cm-%d", "web-%03d", "churn-%06d"} {
		for n := range 4 {
			held := 0
			for i := range 1000 {
				if Split(4, ByName)[n].Holds("default", fmt.Sprintf(form, i), "") {
					held++
				}
			}
			if held < 200 || held > 300 {
				t.Errorf("%s: shard %d of 4 holds %d of 1000", form, n, held)
			}
		}
	}
}

// TestNamesStay: replicas of all releases divide by name alike, or two would write a row during an update.
func TestNamesStay(t *testing.T) {
	for i, want := range []int{1, 5, 2, 0} {
		for n, s := range Split(7, ByName) {
			if s.Holds("default", fmt.Sprint("web-", i), "") != (n == want) {
				t.Errorf("web-%d: in shard %d: %t, want it in %d", i, n, n != want, want)
			}
		}
	}
}

func TestParseShardRefuses(t *testing.T) {
	var status apierrors.APIStatus
	for _, text := range []string{
		"", "all", "shardRange(object.metadata.name, '0x0000000000000000', '0x8000000000000000')",
		"shardRange(object.metadata.uid, '0x0', '0x8000000000000000')",
		"shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')",
		"shardRange(object.metadata.uid, '0x8000000000000000', '0x1000000000000000')",
		"shardRange(object.metadata.uid, '0x0000000000000000', '0x18000000000000000')",
		"shardRange(object.metadata.uid, '0x0000000000000000\", '0x8000000000000000')",
		Split(2, ByUID)[0].String() + " || " + Split(2, ByUID)[1].String(),
	} {
		if r, err := ParseShard(text); apierrors.ReasonForError(err) != "" || !errors.As(err, &status) || status.Status().Code != 500 {
			t.Errorf("%q was read as %v, %v", text, r, err)
		}
	}
}
