package config

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestChanged(t *testing.T) {
	for _, tc := range []struct {
		change func(*Config)
		want   []string
	}{
		{func(*Config) {}, nil},
		{func(c *Config) { c.BCS.CustomStorageEndpoints = List{} }, nil},
		{func(c *Config) { c.WatchResource.LabelSelectors = map[string]string{} }, nil},
		{func(c *Config) { c.BCS.PodQueueNum = 7; c.Verbosity = 4 }, []string{"bcs.podQueueNum", "v"}},
		{func(c *Config) { c.BCS.TLS.CAFile = "x" }, []string{"bcs.tls.ca-file"}},
		{func(c *Config) { c.BCS.CustomStorageEndpoints = List{"http://a:1"} }, []string{"bcs.custom-storage-endpoints"}},
		{func(c *Config) { c.WatchResource.LabelSelectors = map[string]string{"Pod": "a=b"} }, []string{"watch_resource.label_selectors"}},
		{func(c *Config) { c.Synchronizer.Period = Duration(time.Hour) }, []string{"synchronizer.period"}},
	} {
		c := Default()
		tc.change(&c)
		if got := Changed(Default(), c); !slices.Equal(got, tc.want) {
			t.Errorf("%v, want %v", got, tc.want)
		}
	}
	f := Filter{ResourceMaskers: []Masker{{Kind: "Secret", Path: []string{"data"}}}, K8sResourceWhiteList: []string{"v1"}}
	g := Filter{ResourceMaskers: []Masker{{Kind: "Secret", Path: []string{"spec"}}}, K8sResourceWhiteList: []string{"v1"}}
	if got := Changed(f, g); !slices.Equal(got, []string{"resourceMaskers"}) {
		t.Errorf("%v", got)
	}
}

// Every key counts: a field of a kind that is not looked at would change in silence.
func TestChangedSeesEveryKey(t *testing.T) {
	var leaves func(v reflect.Value) int
	leaves = func(v reflect.Value) (n int) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				n += leaves(v.Field(i))
			}
			return n
		case reflect.String:
			v.SetString("changed")
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Int, reflect.Int64:
			v.SetInt(v.Int() + 1)
		case reflect.Uint16:
			v.SetUint(v.Uint() + 1)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		case reflect.Map:
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("Pod"), reflect.Zero(v.Type().Elem()))
		default:
			t.Errorf("a field of kind %s", v.Kind())
		}
		return 1
	}
	c, f := Default(), Filter{}
	if want, got := leaves(reflect.ValueOf(&c).Elem()), len(Changed(Default(), c)); got != want {
		t.Errorf("%d keys of the main file changed, %d are seen", want, got)
	}
	if want, got := leaves(reflect.ValueOf(&f).Elem()), len(Changed(Filter{}, f)); got != want {
		t.Errorf("%d keys of the filter file changed, %d are seen", want, got)
	}
}
