// The oracle answers questions, one JSON line each, with Kubernetes' own code: its selector compiler and its allocator.
//
//	{"expression": "…"}                          → {"error": "…", "cost": 12}
//	{"expression": "…", "device": {…}}           → {"answer": "yes" | "no" | "raises", "error": "…"}
//	{"node": {…}, "slices": […], "classes": […], "allocated": […], "claims": […]}
//	                                             → {"results": [[{…}] | null], "error": "…"}
//	{"nodes": ["…"], "times": 5, "slices": …, "classes": …, "allocated": …, "claims": …}
//	                                             → {"fitting": 1250, "milliseconds": [291.0, …]}
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// The features that Kubernetes 1.37 has on by default.
var features = structured.Features{
	AdminAccess:          true,
	ConsumableCapacity:   true,
	DeviceTaints:         true,
	PartitionableDevices: true,
	PrioritizedList:      true,
}

type question struct {
	Expression *string                      `json:"expression"`
	Device     *device                      `json:"device"`
	Node       *v1.Node                     `json:"node"`
	Nodes      []string                     `json:"nodes"`
	Times      int                          `json:"times"`
	Slices     []*resourceapi.ResourceSlice `json:"slices"`
	Classes    []*resourceapi.DeviceClass   `json:"classes"`
	Allocated  []*resourceapi.ResourceClaim `json:"allocated"`
	Claims     []*resourceapi.ResourceClaim `json:"claims"`
}

type device struct {
	Driver string `json:"driver"`
	resourceapi.Device
}

type answer struct {
	Answer   string                                        `json:"answer,omitempty"`
	Error    string                                        `json:"error,omitempty"`
	NodeOnly bool                                          `json:"nodeOnly,omitempty"`
	Cost     uint64                                        `json:"cost,omitempty"`
	Results  [][]resourceapi.DeviceRequestAllocationResult `json:"results,omitempty"`

	Fitting      int       `json:"fitting,omitempty"`
	Milliseconds []float64 `json:"milliseconds,omitempty"`
}

func main() {
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 256<<20)
	output := json.NewEncoder(os.Stdout)
	for input.Scan() {
		var asked question
		if err := json.Unmarshal(input.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := output.Encode(respond(asked)); err != nil {
			os.Exit(1)
		}
	}
}

func respond(asked question) answer {
	if asked.Nodes != nil {
		return survey(asked)
	}
	if asked.Expression == nil {
		return allocate(asked)
	}
	compiler := cel.GetCompiler(cel.Features{EnableConsumableCapacity: true})
	if asked.Device != nil {
		return evaluate(compiler.CompileCELExpression(*asked.Expression, cel.Options{}), asked.Device)
	}
	compiled := compiler.CompileCELExpression(*asked.Expression, cel.Options{EnvType: ptr.To(environment.NewExpressions)})
	if compiled.Error != nil {
		return answer{Error: compiled.Error.Error()}
	}
	return answer{Cost: compiled.MaxCost}
}

func evaluate(compiled cel.CompilationResult, of *device) answer {
	if compiled.Error != nil {
		return answer{Error: compiled.Error.Error()}
	}
	matches, _, err := compiled.DeviceMatches(context.Background(), cel.Device{
		Driver:                   of.Driver,
		AllowMultipleAllocations: of.AllowMultipleAllocations,
		Attributes:               of.Attributes,
		Capacity:                 of.Capacity,
	})
	switch {
	case err != nil:
		return answer{Answer: "raises", Error: err.Error()}
	case matches:
		return answer{Answer: "yes"}
	}
	return answer{Answer: "no"}
}

type classes []*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) { return c, nil }

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, one := range c {
		if one.Name == name {
			return one, nil
		}
	}
	return nil, fmt.Errorf("deviceclass.resource.k8s.io %q not found", name)
}

func allocate(asked question) answer {
	ctx := context.Background()
	cache := cel.NewCache(100, cel.Features{EnableConsumableCapacity: true})
	allocator, err := structured.NewAllocator(ctx, features, held(asked.Allocated), classes(asked.Classes), asked.Slices, cache)
	if err != nil {
		return answer{Error: err.Error()}
	}
	found, err := allocator.Allocate(ctx, asked.Node, asked.Claims)
	if err != nil {
		return answer{Error: err.Error(), NodeOnly: errors.Is(err, structured.ErrFailedAllocationOnNode)}
	}
	var results [][]resourceapi.DeviceRequestAllocationResult
	for _, one := range found {
		results = append(results, one.Devices.Results)
	}
	return answer{Results: results}
}

// held follows the scheduler's allocated_devices.go: admin access holds nothing, shares add up.
func held(claims []*resourceapi.ResourceClaim) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, claim := range claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			if ptr.Deref(result.AdminAccess, false) {
				continue
			}
			id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
			if result.ShareID == nil {
				state.AllocatedDevices.Insert(id)
				continue
			}
			state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
			if result.ConsumedCapacity != nil {
				state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
			}
		}
	}
	return state
}
