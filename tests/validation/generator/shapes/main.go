// Command dump prints the JSON shape of the Kubernetes Go types that jupyter_dra.validation decodes.
//
// Facts come from the struct tags (json, patchStrategy, patchMergeKey) of k8s.io/api; descriptions are not read.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type kind struct {
	Group, Version, Kind string
	value                any
}

var kinds = []kind{
	{"", "v1", "Namespace", corev1.Namespace{}}, {"", "v1", "Pod", corev1.Pod{}}, {"", "v1", "Secret", corev1.Secret{}},
	{"", "v1", "ConfigMap", corev1.ConfigMap{}}, {"", "v1", "Event", corev1.Event{}}, {"", "v1", "Node", corev1.Node{}},
	{"", "v1", "ServiceAccount", corev1.ServiceAccount{}}, {"", "v1", "ResourceQuota", corev1.ResourceQuota{}},
	{"", "v1", "LimitRange", corev1.LimitRange{}}, {"", "v1", "Service", corev1.Service{}},
	{"", "v1", "PersistentVolumeClaim", corev1.PersistentVolumeClaim{}},
	{"", "v1", "PodTemplate", corev1.PodTemplate{}}, {"", "v1", "ReplicationController", corev1.ReplicationController{}},
	{"", "v1", "Binding", corev1.Binding{}},
	{"apps", "v1", "Deployment", appsv1.Deployment{}}, {"apps", "v1", "StatefulSet", appsv1.StatefulSet{}},
	{"apps", "v1", "DaemonSet", appsv1.DaemonSet{}}, {"apps", "v1", "ReplicaSet", appsv1.ReplicaSet{}},
	{"batch", "v1", "Job", batchv1.Job{}}, {"batch", "v1", "CronJob", batchv1.CronJob{}},
	{"coordination.k8s.io", "v1", "Lease", coordinationv1.Lease{}}, {"events.k8s.io", "v1", "Event", eventsv1.Event{}},
	{"networking.k8s.io", "v1", "NetworkPolicy", networkingv1.NetworkPolicy{}},
	{"rbac.authorization.k8s.io", "v1", "Role", rbacv1.Role{}},
	{"rbac.authorization.k8s.io", "v1", "ClusterRole", rbacv1.ClusterRole{}},
	{"rbac.authorization.k8s.io", "v1", "RoleBinding", rbacv1.RoleBinding{}},
	{"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", rbacv1.ClusterRoleBinding{}},
	{"authorization.k8s.io", "v1", "SelfSubjectAccessReview", authorizationv1.SelfSubjectAccessReview{}},
	{"authorization.k8s.io", "v1", "SubjectAccessReview", authorizationv1.SubjectAccessReview{}},
	{"authorization.k8s.io", "v1", "SelfSubjectRulesReview", authorizationv1.SelfSubjectRulesReview{}},
	{"authentication.k8s.io", "v1", "SelfSubjectReview", authenticationv1.SelfSubjectReview{}},
	{"authentication.k8s.io", "v1", "TokenReview", authenticationv1.TokenReview{}},
	{"authentication.k8s.io", "v1", "TokenRequest", authenticationv1.TokenRequest{}},
	{"scheduling.k8s.io", "v1", "PriorityClass", schedulingv1.PriorityClass{}},
	{"resource.k8s.io", "v1", "DeviceClass", resourcev1.DeviceClass{}},
	{"resource.k8s.io", "v1", "ResourceClaim", resourcev1.ResourceClaim{}},
	{"resource.k8s.io", "v1", "ResourceClaimTemplate", resourcev1.ResourceClaimTemplate{}},
	{"resource.k8s.io", "v1", "ResourceSlice", resourcev1.ResourceSlice{}},
	{"resource.k8s.io", "v1", "DeviceTaintRule", resourcev1.DeviceTaintRule{}},
	{"resource.k8s.io", "v1beta2", "DeviceClass", resourcev1beta2.DeviceClass{}},
	{"resource.k8s.io", "v1beta2", "ResourceClaim", resourcev1beta2.ResourceClaim{}},
	{"resource.k8s.io", "v1beta2", "ResourceClaimTemplate", resourcev1beta2.ResourceClaimTemplate{}},
	{"resource.k8s.io", "v1beta2", "ResourceSlice", resourcev1beta2.ResourceSlice{}},
	{"resource.k8s.io", "v1beta2", "DeviceTaintRule", resourcev1beta2.DeviceTaintRule{}},
	{"resource.k8s.io", "v1beta1", "DeviceClass", resourcev1beta1.DeviceClass{}},
	{"resource.k8s.io", "v1beta1", "ResourceClaim", resourcev1beta1.ResourceClaim{}},
	{"resource.k8s.io", "v1beta1", "ResourceClaimTemplate", resourcev1beta1.ResourceClaimTemplate{}},
	{"resource.k8s.io", "v1beta1", "ResourceSlice", resourcev1beta1.ResourceSlice{}},
	{"resource.k8s.io", "v1alpha3", "DeviceTaintRule", resourcev1alpha3.DeviceTaintRule{}},
	{"", "v1", "Status", metav1.Status{}}, {"", "v1", "DeleteOptions", metav1.DeleteOptions{}},
}

// field is one JSON field; Via names the embedded Go struct it comes from, Keep says that its zero value is written.
type field struct {
	Type     string `json:"type"`
	Strategy string `json:"strategy,omitempty"`
	Key      string `json:"key,omitempty"`
	Via      string `json:"via,omitempty"`
	Pointer  bool   `json:"ptr,omitempty"`
	Keep     bool   `json:"keep,omitempty"`
}

type shape struct {
	Kind   string           `json:"kind"`
	Go     string           `json:"go"`
	Elem   string           `json:"elem,omitempty"`
	Fields map[string]field `json:"fields,omitempty"`
}

var shapes = map[string]*shape{}

func ref(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return ref(t.Elem())
	}
	if t.Name() == "" {
		switch t.Kind() {
		case reflect.Slice:
			return "[]" + ref(t.Elem())
		case reflect.Map:
			return "{" + ref(t.Key()) + "}" + ref(t.Elem())
		}
	}
	path := t.PkgPath()
	for _, prefix := range []string{"k8s.io/apimachinery/pkg/apis/", "k8s.io/apimachinery/pkg/", "k8s.io/api/"} {
		path = strings.TrimPrefix(path, prefix)
	}
	if path == "" {
		return t.Name()
	}
	return path + "." + t.Name()
}

var special = map[string]string{
	"api/resource.Quantity": "quantity", "meta/v1.Time": "time", "meta/v1.MicroTime": "microtime",
	"meta/v1.Duration": "duration", "util/intstr.IntOrString": "intstr", "runtime.RawExtension": "raw", "meta/v1.FieldsV1": "raw",
}

func walk(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := ref(t)
	if shapes[name] != nil {
		return name
	}
	s := &shape{Go: t.String()}
	shapes[name] = s
	if word, ok := special[name]; ok {
		s.Kind = word
		return name
	}
	switch t.Kind() {
	case reflect.Struct:
		s.Kind, s.Fields = "struct", map[string]field{}
		collect(s, t, "")
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			s.Kind = "bytes"
			break
		}
		s.Kind, s.Elem = "list", walk(t.Elem())
	case reflect.Map:
		s.Kind, s.Elem = "map", walk(t.Elem())
	default:
		s.Kind = t.Kind().String()
	}
	return name
}

func collect(s *shape, t reflect.Type, via string) {
	for i := range t.NumField() {
		f := t.Field(i)
		parts := strings.Split(f.Tag.Get("json"), ",")
		if f.Anonymous && parts[0] == "" {
			inner := f.Name
			if via != "" {
				inner = via + "." + f.Name
			}
			collect(s, f.Type, inner)
			continue
		}
		if parts[0] == "" || parts[0] == "-" {
			continue
		}
		options := strings.Join(parts[1:], ",")
		s.Fields[parts[0]] = field{
			Type: walk(f.Type), Strategy: f.Tag.Get("patchStrategy"), Key: f.Tag.Get("patchMergeKey"), Via: via,
			Pointer: f.Type.Kind() == reflect.Pointer,
			Keep:    !strings.Contains(options, "omit") || f.Type.Kind() == reflect.Struct && !strings.Contains(options, "omitzero"),
		}
	}
}

func main() {
	out := map[string]any{}
	names := []map[string]string{}
	for _, k := range kinds {
		names = append(names, map[string]string{"group": k.Group, "version": k.Version, "kind": k.Kind, "type": walk(reflect.TypeOf(k.value))})
	}
	out["kinds"], out["types"] = names, shapes
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		panic(err)
	}
}
