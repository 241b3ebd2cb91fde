package plan

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// Profiles: what Load.Profile may be.
const (
	ProfileServiceChurn    = "service-churn"
	ProfileBatchJobs       = "batch-jobs"
	ProfileRollout         = "rollout"
	ProfileCrashLoop       = "crashloop"
	ProfileNodeFlap        = "node-flap"
	ProfileMixedProduction = "mixed-production"
)

// ProfileNames lists the profiles.
func ProfileNames() []string {
	return []string{ProfileServiceChurn, ProfileBatchJobs, ProfileRollout, ProfileCrashLoop, ProfileNodeFlap,
		ProfileMixedProduction}
}

//go:embed profiles.yaml
var profilesFile []byte

// common is the entry of the file that all profiles are laid over.
const common = "common"

// profiles are the numbers of the profiles by name, each complete. They are read once: averages are not free.
var profiles = sync.OnceValue(func() map[string]Tuning {
	all := map[string]Tuning{}
	tree, err := format.Parse("profiles.yaml", profilesFile)
	if err == nil {
		_, err = tree.Decode(tree.Root, &all)
	}
	if err != nil {
		panic(fmt.Sprintf("plan: %v", err)) // it is the program's own
	}
	base := all[common]
	delete(all, common)
	for name, t := range all {
		all[name] = t.over(base)
	}
	return all
})

// ResolvedTuning is the file's over the profile's, with a mix that sums to 1. The profile must be known.
func (c *Load) ResolvedTuning() Tuning {
	t := c.writtenTuning()
	t.Mix.normalise()
	return t
}

// writtenTuning is ResolvedTuning with the mix as it is written.
func (c *Load) writtenTuning() Tuning {
	base := profiles()[c.Profile]
	if c.Tuning == nil {
		return base
	}
	return c.Tuning.over(base)
}

// HasWidgets reports whether the load writes custom resources, as some profiles do.
func (c *Load) HasWidgets() bool {
	return c.Profile != "" && *c.ResolvedTuning().Cluster.Widgets > 0
}

func (c *Load) validateProfile() error {
	if c.Profile == "" {
		if c.Tuning != nil {
			return fieldError("tuning", "has no effect without a profile; add profile: %s, or drop it", ProfileServiceChurn)
		}
		return nil
	}
	if _, ok := profiles()[c.Profile]; !ok {
		return fieldError("profile", "%q is not known; use one of %s", c.Profile, strings.Join(ProfileNames(), ", "))
	}
	if c.Model == ModelClosed {
		return fieldError("profile", "is driven by time, which a closed loop does not have; set model: open and a rate")
	}
	for _, f := range []struct {
		path string
		set  bool
	}{
		{"lifecycle", c.Lifecycle != ""}, {"stages", len(c.Stages) > 0}, {"survivors", c.Survivors != DefaultSurvivors},
		{"recreate", c.Recreate != DefaultRecreate}, {"objectBytes", c.ObjectBytes != DefaultObjectBytes},
		{"labelShards", c.LabelShards != 0}, {"hotkeys", c.Hotkeys != nil},
		{"warmup.operations", c.Warmup.Operations != 0},
	} {
		if f.set {
			return fieldError(f.path, "has no effect on a profile's pods; drop it, or set load.tuning")
		}
	}
	t := c.writtenTuning()
	if err := t.validate(); err != nil {
		return err
	}
	t.Mix.normalise()
	if c.validateModel() != nil {
		return nil // what arrives is not known
	}
	if err := c.validateRestarts(&t); err != nil {
		return err
	}
	return c.validateRoom(&t)
}
