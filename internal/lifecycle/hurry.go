package lifecycle

import "context"

type hurryKey struct{}

// WithHurry returns a context whose clean-up, once hurry ends, is to wait for nothing.
func WithHurry(ctx, hurry context.Context) context.Context {
	return context.WithValue(ctx, hurryKey{}, hurry)
}

// Hurry returns the context that WithHurry was given, else one that never ends.
func Hurry(ctx context.Context) context.Context {
	if h, ok := ctx.Value(hurryKey{}).(context.Context); ok {
		return h
	}
	return context.Background()
}
