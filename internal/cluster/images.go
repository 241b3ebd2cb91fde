package cluster

import (
	"context"
	"fmt"
	"os"

	kindcluster "sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
)

// LoadKindImages gives the nodes of the kind cluster of that name images of the local
// Docker, as `kind load docker-image` does.
func LoadKindImages(ctx context.Context, name string, images ...string) error {
	archive, err := os.CreateTemp("", "watchbench-images-*.tar")
	if err != nil {
		return fmt.Errorf("save images: %w", err)
	}
	defer func() {
		_ = archive.Close()
		_ = os.Remove(archive.Name())
	}()
	if _, err := (docker{}).lines(ctx, append([]string{"save", "-o", archive.Name()}, images...)...); err != nil {
		return err
	}
	nodes, err := kindcluster.NewProvider(kindcluster.ProviderWithDocker()).ListInternalNodes(name)
	if err != nil {
		return fmt.Errorf("list the nodes of kind cluster %s: %w", name, kindError(err))
	}
	for _, n := range nodes {
		f, err := os.Open(archive.Name())
		if err != nil {
			return fmt.Errorf("load images: %w", err)
		}
		err = nodeutils.LoadImageArchive(n, f)
		_ = f.Close()
		if err != nil {
			return fmt.Errorf("load images into %s: %w", n, kindError(err))
		}
	}
	return nil
}
