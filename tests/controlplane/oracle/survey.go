package main

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// survey asks the allocator for every node, as one worker of the scheduler does in one attempt, and takes the time:
// the selectors are compiled anew each time, the cluster is decoded already.
func survey(asked question) answer {
	ctx := context.Background()
	var found answer
	for range max(1, asked.Times) {
		began := time.Now()
		cache := cel.NewCache(100, cel.Features{EnableConsumableCapacity: true})
		allocator, err := structured.NewAllocator(ctx, features, held(asked.Allocated), classes(asked.Classes), asked.Slices, cache)
		if err != nil {
			return answer{Error: err.Error()}
		}
		fitting, err := countFitting(ctx, allocator, asked)
		if err != nil {
			return answer{Error: err.Error()}
		}
		found.Fitting = fitting
		found.Milliseconds = append(found.Milliseconds, float64(time.Since(began).Microseconds())/1000)
	}
	return found
}

func countFitting(ctx context.Context, allocator structured.Allocator, asked question) (int, error) {
	fitting := 0
	for _, name := range asked.Nodes {
		node := &v1.Node{}
		node.Name = name
		results, err := allocator.Allocate(ctx, node, asked.Claims)
		if err != nil {
			return 0, err
		}
		if results != nil {
			fitting++
		}
	}
	return fitting, nil
}
