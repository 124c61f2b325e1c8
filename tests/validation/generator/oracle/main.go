package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/event"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/devicetaintrule"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
)

type nsClient struct {
	corev1client.NamespaceInterface
	labels map[string]string
}

func (n *nsClient) Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Namespace, error) {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: n.labels}}, nil
}

type yes struct{}

func (yes) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

type request struct {
	ID     string            `json:"id"`
	Op     string            `json:"op"`
	Raw    string            `json:"raw"`
	Object json.RawMessage   `json:"object"`
	Old    json.RawMessage   `json:"old"`
	Labels map[string]string `json:"labels"`
	Sub    string            `json:"sub"`
}

type reply struct {
	ID     string          `json:"id"`
	Decode string          `json:"decode,omitempty"`
	Error  string          `json:"error,omitempty"`
	Status *metav1.Status  `json:"status,omitempty"`
	Object json.RawMessage `json:"object,omitempty"`
}

func strategyFor(gvk schema.GroupVersionKind, ns *nsClient, sub string) any {
	if sub == "status" {
		switch gvk.Kind {
		case "ResourceClaim":
			return resourceclaim.NewStatusStrategy(resourceclaim.NewStrategy(ns, yes{}))
		case "Pod":
			return pod.StatusStrategy
		case "Node":
			return node.StatusStrategy
		}
	}
	switch gvk.Kind {
	case "ResourceClaim":
		return resourceclaim.NewStrategy(ns, nil)
	case "ResourceClaimTemplate":
		return resourceclaimtemplate.NewStrategy(ns)
	case "DeviceClass":
		return deviceclass.Strategy
	case "ResourceSlice":
		return resourceslice.Strategy
	case "DeviceTaintRule":
		return devicetaintrule.Strategy
	case "Pod":
		return pod.Strategy
	case "Secret":
		return secret.Strategy
	case "ConfigMap":
		return configmap.Strategy
	case "Namespace":
		return namespace.Strategy
	case "Event":
		return event.Strategy
	case "Node":
		return node.Strategy
	case "Lease":
		return lease.Strategy
	case "ServiceAccount":
		return serviceaccount.Strategy
	case "ResourceQuota":
		return resourcequota.Strategy
	case "LimitRange":
		return limitrange.Strategy
	case "Service":
		return service.Strategy
	case "PersistentVolumeClaim":
		return persistentvolumeclaim.Strategy
	case "Role":
		return role.Strategy
	case "ClusterRole":
		return clusterrole.Strategy
	case "RoleBinding":
		return rolebinding.Strategy
	case "ClusterRoleBinding":
		return clusterrolebinding.Strategy
	case "NetworkPolicy":
		return networkpolicy.Strategy
	case "Deployment":
		return deployment.Strategy
	case "StatefulSet":
		return statefulset.Strategy
	case "DaemonSet":
		return daemonset.Strategy
	case "ReplicaSet":
		return replicaset.Strategy
	case "Job":
		return job.Strategy
	case "CronJob":
		return cronjob.Strategy
	}
	return nil
}

var strict = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)

func decode(body []byte) (runtime.Object, schema.GroupVersionKind, error) {
	var meta metav1.TypeMeta
	_ = json.Unmarshal(body, &meta)
	gvk := schema.FromAPIVersionAndKind(meta.APIVersion, meta.Kind)
	info, _ := runtime.SerializerInfoForMediaType(strict.SupportedMediaTypes(), "application/json")
	dec := strict.DecoderToVersion(info.StrictSerializer, schema.GroupVersion{Group: gvk.Group, Version: runtime.APIVersionInternal})
	obj, actual, err := dec.Decode(body, &gvk, nil)
	if err != nil {
		if actual != nil {
			gvk = *actual
		}
		return nil, gvk, fmt.Errorf("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, gvk.Kind, err)
	}
	return obj, *actual, nil
}

func handle(r request) (out reply) {
	out.ID = r.ID
	defer func() {
		if p := recover(); p != nil {
			out.Error = fmt.Sprintf("panic: %v", p)
		}
	}()
	body := []byte(r.Raw)
	if len(body) == 0 {
		body = r.Object
	}
	obj, gvk, err := decode(body)
	if err != nil {
		out.Decode = err.Error()
		return
	}
	if r.Op == "decode" {
		return
	}
	ns := &nsClient{labels: r.Labels}
	strategy := strategyFor(gvk, ns, r.Sub)
	if strategy == nil {
		out.Error = "no strategy"
		return
	}
	acc, _ := runtime.Object(obj).(metav1.ObjectMetaAccessor)
	om := acc.GetObjectMeta()
	ctx := genericapirequest.WithNamespace(genericapirequest.NewContext(), "")
	if c, ok := strategy.(rest.RESTCreateStrategy); ok && c.NamespaceScoped() {
		if om.GetNamespace() == "" {
			om.SetNamespace("default")
		}
		ctx = genericapirequest.WithNamespace(ctx, om.GetNamespace())
	}
	ctx = genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: "admin", Groups: []string{"system:masters"}})
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{IsResourceRequest: true, APIGroup: gvk.Group, APIVersion: gvk.Version, Resource: strings.ToLower(gvk.Kind) + "s", Subresource: r.Sub, Verb: "create"})
	if r.Op != "update" {
		c := strategy.(rest.RESTCreateStrategy)
		rest.FillObjectMetaSystemFields(om)
		if len(om.GetGenerateName()) > 0 && len(om.GetName()) == 0 {
			om.SetName(om.GetGenerateName() + "abcde")
		}
		err = rest.BeforeCreate(c, ctx, obj)
	}
	if r.Op == "update" {
		old, _, _ := decode(r.Old)
		oacc, _ := runtime.Object(old).(metav1.ObjectMetaAccessor)
		oom := oacc.GetObjectMeta()
		oom.SetNamespace(om.GetNamespace())
		oom.SetResourceVersion("1")
		oom.SetUID("11111111-1111-1111-1111-111111111111")
		om.SetUID("11111111-1111-1111-1111-111111111111")
		oom.SetCreationTimestamp(om.GetCreationTimestamp())
		fresh, _, _ := decode(body)
		facc, _ := runtime.Object(fresh).(metav1.ObjectMetaAccessor)
		fom := facc.GetObjectMeta()
		fom.SetNamespace(om.GetNamespace())
		fom.SetResourceVersion("1")
		fom.SetUID(om.GetUID())
		fom.SetCreationTimestamp(om.GetCreationTimestamp())
		err = rest.BeforeUpdate(strategy.(rest.RESTUpdateStrategy), ctx, fresh, old)
		obj = fresh
	}
	if err != nil {
		out.Error = err.Error()
		if s, ok := err.(errors.APIStatus); ok {
			st := s.Status()
			out.Status = &st
		}
		return
	}
	info, _ := runtime.SerializerInfoForMediaType(strict.SupportedMediaTypes(), "application/json")
	enc := strict.EncoderForVersion(info.Serializer, gvk.GroupVersion())
	b, err := runtime.Encode(enc, obj)
	if err != nil {
		out.Error = err.Error()
	}
	out.Object = b
	return
}

func main() {
	if gates := os.Getenv("GATES"); gates != "" {
		if err := utilfeature.DefaultMutableFeatureGate.Set(gates); err != nil {
			panic(err)
		}
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<26)
	w := json.NewEncoder(os.Stdout)
	w.SetEscapeHTML(false)
	for in.Scan() {
		var r request
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			panic(err)
		}
		w.Encode(handle(r))
	}
}
