"""The smallest watcher that watchbench passes, to start from (docs/your-watcher.md). Standard library only.

    bin/watchbench run smoke --watcher-command 'python3 scenarios/examples/watcher.py {config}'
"""
import base64, http.client, json, os, queue, re, signal, ssl, sys, tempfile, threading, time
from urllib.parse import urlsplit

config = json.load(open(sys.argv[1]))
filters = json.load(open(config["filterConfigPath"]))
kubeconfig = dict(re.findall(r"([\w-]+): *[\"']?([^\s\"']+)", open(config["k8s"]["kubeconfig"]).read()))  # one cluster, one user
storage = urlsplit(config["bcs"]["custom-storage-endpoints"].split(",")[0]).netloc
cluster = config["default"]["clusterID"]
tls = None  # a simulated API server (watchbench gate and tune) has no certificate
if kubeconfig["server"].startswith("https:"):
    tls = ssl.create_default_context(cadata=base64.b64decode(kubeconfig["certificate-authority-data"]).decode())
    with tempfile.NamedTemporaryFile() as pem:  # Python takes a client certificate from a file only
        pem.write(base64.b64decode(kubeconfig["client-certificate-data"]) + base64.b64decode(kubeconfig["client-key-data"]))
        pem.flush()
        tls.load_cert_chain(pem.name)
senders = [queue.Queue() for _ in range(16)]


def apiserver(path):
    server = urlsplit(kubeconfig["server"]).netloc
    connection = http.client.HTTPSConnection(server, context=tls) if tls else http.client.HTTPConnection(server)
    connection.request("GET", path)
    answer = connection.getresponse()
    if answer.status != 200:
        raise OSError(f"{path}: {answer.status} {answer.read(200)}")
    return answer


def enqueue(method, kind, item):
    meta = item["metadata"]
    meta.pop("managedFields", None)  # isFilterManagedFields is false: storage does not want them
    namespace, name = meta.get("namespace"), meta["name"]
    if namespace in (filters["resourceNamespaceFilters"] or []):  # null where none is left out
        return
    scope = f"namespace_resources/clusters/{cluster}/namespaces/{namespace}" if namespace else f"cluster_resources/clusters/{cluster}"
    path = f"/bcsstorage/v1/k8s/dynamic/{scope}/{kind}/{name}"
    body = json.dumps({"data": item}) if method == "PUT" else None
    senders[hash(path) % len(senders)].put((method, path, body))  # one object, one queue: its states stay in order


def send(waiting):
    connection = http.client.HTTPConnection(storage, timeout=5)  # connects again by itself
    while True:
        method, path, body = waiting.get()
        while True:
            try:
                connection.request(method, path, body, {"Content-Type": "application/json"})
                if json.load(connection.getresponse())["result"]:  # not the status: a failure may be a 200
                    break
            except (OSError, http.client.HTTPException, ValueError) as error:
                print(method, path, repr(error), flush=True)
                connection.close()
            time.sleep(5)  # what was not answered may still be applied, and must not hit a later state


def follow(group_version, kind, path):
    stored = {}  # the last state of each object, to find what a new list no longer has

    def take(change, item):
        key = item["metadata"].get("namespace"), item["metadata"]["name"]
        if change == "DELETED":
            stored.pop(key, None)
        else:
            stored[key] = item
        enqueue("DELETE" if change == "DELETED" else "PUT", kind, item)
        return key

    while True:
        try:
            listed = json.load(apiserver(path))  # whose items lack apiVersion and kind
            held = {take("LISTED", {"apiVersion": group_version, "kind": kind, **item}) for item in listed["items"]}
            for gone in stored.keys() - held:
                take("DELETED", stored[gone])
            for line in apiserver(f"{path}?watch=1&resourceVersion={listed['metadata']['resourceVersion']}"):
                event = json.loads(line)
                if event["type"] == "ERROR":  # such as 410, too old a version: list again
                    break
                take(event["type"], event["object"])
        except (OSError, http.client.HTTPException, ValueError) as error:
            print(path, repr(error), flush=True)
        time.sleep(1)


signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
for waiting in senders:
    threading.Thread(target=send, args=(waiting,), daemon=True).start()
for group in [{"groupVersion": "v1", "resourceKinds": ["Namespace"]}] + filters["apiResourceSpecification"]:
    root = ("/apis/" if "/" in group["groupVersion"] else "/api/") + group["groupVersion"]
    for resource in json.load(apiserver(root))["resources"]:
        if resource["kind"] in group["resourceKinds"] and "/" not in resource["name"]:
            threading.Thread(target=follow, args=(group["groupVersion"], resource["kind"], f"{root}/{resource['name']}")).start()
