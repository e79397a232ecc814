#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes pods that `podman kube play` runs of a DaemonSet.

    tests/consumers/containers/pods.py MANIFEST ROOT OUT [WORD...]

The paths of the host are below ROOT, those in /dev excepted, and so are empty folders. OUT is the pod
without its init containers, and OUT.init a pod of these: podman 4.3 takes 20 seconds to notice the
end of an init container. It does not know subPath, so the volume is mounted as the folder, nor
spec.nodeName. Limits are left out. The words are further options of the first container.
"""

import os
import sys

import yaml

manifest, root, out, *words = sys.argv[1:]


def adapt_volume(volume):
    if "emptyDir" in volume:
        del volume["emptyDir"]
        folder, mode = f"{root}/{volume['name']}", 0o777
    elif volume.get("hostPath", {}).get("path", "/dev/").startswith("/dev/"):
        return
    else:
        folder, mode = root + volume["hostPath"]["path"], 0o755
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, mode)
    volume["hostPath"] = {"path": folder, "type": "Directory"}


def adapt_container(container):
    container.pop("resources", None)
    container.pop("env", None)
    for mount in container["volumeMounts"]:
        if mount.pop("subPath", None):
            mount["mountPath"] = os.path.dirname(mount["mountPath"])


def write(path, name, containers, volumes, policy):
    mounted = {mount["name"] for container in containers for mount in container["volumeMounts"]}
    with open(path, "w", encoding="utf-8") as file:
        yaml.safe_dump({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {
                "restartPolicy": policy,
                "containers": containers,
                "volumes": [volume for volume in volumes if volume["name"] in mounted],
            },
        }, file)


with open(manifest, encoding="utf-8") as file:
    daemon_set = next(each for each in yaml.safe_load_all(file) if each["kind"] == "DaemonSet")
pod = daemon_set["spec"]["template"]["spec"]
for each in pod["volumes"]:
    adapt_volume(each)
for each in pod["containers"] + pod.get("initContainers", []):
    adapt_container(each)
pod["containers"][0]["command"] += words
write(out, "main", pod["containers"], pod["volumes"], "Always")
if "initContainers" in pod:
    write(out + ".init", "init", pod["initContainers"], pod["volumes"], "Never")
