# SPDX-License-Identifier: MIT
# Containers and Kubernetes: podman, which builds and runs the image, without a network;
# kubernetes-validate, with the API's schemas; podman again, on the pods of the manifests. Debian's
# busybox is the shell of the images.
# apt: podman runc catatonit busybox-static
# pip: kubernetes-validate==1.37.0
# go: k8s.io/node-problem-detector/cmd/nodeproblemdetector@v1.34.0
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

manifests=$work/manifests

# Makes the command in-podman: with storage of ours, and as it works inside of containers. podman 4.3
# sets limits, which not every root may raise, and first lowers that of its processes to 32,768.
make_podman() {
	awk '/^Max processes/ { processes = $4 < 32768 ? $4 : 32768 }
		/^Max open files/ { files = $5 }
		END {
			printf "[containers]\ndefault_ulimits = [\"nofile=%s:%s\", \"nproc=%s:%s\"]\n",
				files, files, processes, processes
			print "[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\""
		}' /proc/self/limits >"$work/containers.conf"
	cat >"$work/bin/in-podman" <<-END
		#!/bin/sh
		cd $work
		CONTAINERS_CONF=$work/containers.conf exec podman --root $work/podman --runroot $work/podman.run \
			--tmpdir $work/podman.tmp --storage-driver vfs "\$@"
	END
	chmod 755 "$work/bin/in-podman"
}

# build TAG FOLDER [OPTION]...: an image of the Containerfile in FOLDER.
build() {
	tag=$1
	folder=$2
	shift 2
	run in-podman build --isolation chroot -t "$tag" "$@" "$folder"
}

# build_base TAG: an image with a shell and what is in $work/base/root.
build_base() {
	mkdir -p "$work/base/root/bin"
	cp "$(command -v busybox)" "$work/base/root/bin/busybox"
	for applet in sh cp mv awk sleep; do
		ln -sf busybox "$work/base/root/bin/$applet"
	done
	printf 'FROM scratch\nCOPY root /\n' >"$work/base/Containerfile"
	build "$1" "$work/base"
}

# is_as_outside KEY...: what the container says of the host, in $work/inside, is what is said here.
is_as_outside() {
	for key; do
		[ "$("$document" get "$key" <"$work/inside")" = "$("$document" get "$key" <"$work/outside")" ] ||
			return 1
	done
}

check_image() {
	mkdir "$work/image"
	cp "$static" "$work/image/vdsocheck"
	cp "$share/container/Containerfile" "$work/image"
	build vdsocheck "$work/image"
	verify 'Containerfile: makes an image of the binary alone' '[ "$status" -eq 0 ]'
	printf 'FROM vdsocheck\nRUN ["/vdsocheck", "--json"]\n' >"$work/image/Containerfile.run"
	vdsocheck --json >"$work/outside" || :
	build tried "$work/image" -f "$work/image/Containerfile.run"
	sed -n '/^{$/,/^}$/p' "$out" >"$work/inside"
	verify 'container: reads the host right where chroot is the only isolation' \
		'is_as_outside verdict clocksource.current vclock.name host.kernel host.cpu host.hypervisor'

	run in-podman run --rm --network none --read-only --cap-drop all vdsocheck --json
	if [ "$status" -ge 125 ]; then
		skip 'container: reads the host right' "podman runs no container here: $(tail -n 1 "$err")"
		return 1
	fi
	cp "$out" "$work/inside"
	verify 'container: reads the host right' \
		'is_as_outside verdict clocksource.current vclock.name host.kernel host.cpu host.hypervisor'
	verify 'container: the document says what a container does not show' \
		'[ "$("$document" get host.container <"$work/inside")" = podman ]' \
		'[ "$("$document" get host.distribution <"$work/inside")" = null ]' \
		'grep -q "\"boot_tool_reason\": \"absent: in a container\"" "$work/inside"'
	run in-podman run --rm --network none vdsocheck -v
	verify 'container: the screen says that the kernel log is not read' 'grep -q "^  kernel log    not read: " "$out"'
	run in-podman run --rm --network none --user 0 --cap-add SYSLOG vdsocheck -v
	verify 'container: CAP_SYSLOG is enough to read the kernel log' '! grep -q "^  kernel log    not read" "$out"'
}

# Each manifest in $manifests, as it is installed.
copy_manifests() {
	mkdir -p "$manifests"
	for file in "$share"/kubernetes/*.yaml; do
		sed 's|@bindir@|/usr/bin|' "$file" >"$manifests/${file##*/}"
	done
}

check_manifests() {
	if ! has kubernetes-validate; then
		skip 'kubernetes-validate: accepts the manifests' 'no kubernetes-validate'
		return
	fi
	for release in 1.25 1.37; do
		run kubernetes-validate --strict -k "$release" "$manifests"/*.yaml
		verify "kubernetes-validate: accepts the manifests for Kubernetes $release" '[ "$status" -eq 0 ]' \
			'[ "$(cat "$out" "$err" | grep -c passed)" -ge 5 ]'
	done
	sed 's/hostPath:/hostpath:/' "$manifests/node-exporter.yaml" >"$work/wrong.yaml"
	run kubernetes-validate --strict "$work/wrong.yaml"
	verify 'kubernetes-validate: notices a key that the API does not know' '[ "$status" -ne 0 ]'
}

# play NAME [OPTION]...: runs the pod in $work/NAME.
play() {
	pod=$work/$1
	shift
	run in-podman kube play --network none "$@" "$pod"
}

# make_pod MANIFEST [WORD]...: the pod in $work/pod, on folders below $work/node.
make_pod() {
	manifest=$manifests/$1.yaml
	shift
	python3 "$here/containers/pods.py" "$manifest" "$work/node" "$work/pod" "$@"
}

remove_pods() {
	run in-podman pod rm --all --force --time 0
}

check_pods() {
	build_base localhost/base
	build registry.example/vdsocheck:shell "$work/image" --build-arg BASE=localhost/base
	verify 'Containerfile: makes an image with a shell of a base that has one' '[ "$status" -eq 0 ]'
	verdict=$("$document" get verdict <"$work/outside")

	make_pod node-exporter
	play pod
	metrics=$work/node/var/lib/prometheus/node-exporter/vdsocheck.prom
	wait_for 20 test -s "$metrics"
	verify 'Kubernetes: the pod for node_exporter writes our metrics' \
		'grep -qxF "vdsocheck_verdict{verdict=\"$verdict\"} 1" "$metrics"'
	remove_pods

	make_pod node-feature-discovery
	play pod
	features=$work/node/etc/kubernetes/node-feature-discovery/features.d/vdsocheck
	wait_for 20 test -s "$features"
	verify 'Kubernetes: the pod for node-feature-discovery writes the verdict as a label' \
		'grep -qxF "feature.node.kubernetes.io/vdso-clock=$verdict" "$features"'
	remove_pods
	check_detector_pod
}

check_detector_pod() {
	name="Kubernetes: node-problem-detector runs the plugin in its container"
	if ! has nodeproblemdetector; then
		skip "$name" 'no nodeproblemdetector: make consumer-deps CONSUMER=containers'
		return
	fi
	mkdir -p "$work/base/root/config"
	echo '{"plugin": "kmsg", "source": "kernel", "logPath": "/dev/kmsg", "bufferSize": 1, "rules": []}' \
		>"$work/base/root/config/kernel-monitor.json"
	cp "$(command -v nodeproblemdetector)" "$work/base/root/node-problem-detector"
	build_base "$(sed -n 's/.*image: \(.*node-problem-detector:.*\)/\1/p' \
		"$manifests/node-problem-detector.yaml")"
	make_pod node-problem-detector --enable-k8s-exporter=false --v=3
	sed 's|@bindir@|/usr/bin|; s/^/    /' "$share/node-problem-detector/vdsocheck.json" >"$work/plugin"
	printf '%s\n' 'apiVersion: v1' 'kind: ConfigMap' 'metadata: {name: vdsocheck}' \
		'data:' '  vdsocheck.json: |' >"$work/configuration.yaml"
	cat "$work/plugin" >>"$work/configuration.yaml"
	play pod.init
	wait_for 20 test -s "$work/node/vdsocheck-bin/vdsocheck"
	play pod --configmap "$work/configuration.yaml"
	result=$("$document" get exit_status <"$work/outside")
	logged() { in-podman logs main-node-problem-detector 2>&1 | grep -q "$1"; }
	wait_for 20 logged 'Add check result'
	verify "$name" 'logged "Add check result .*ExitStatus:$result Message:$verdict: "'
	remove_pods
}

check_containers() {
	copy_manifests
	check_manifests
	name='container: podman builds and runs the image'
	if [ "$(id -u)" -ne 0 ]; then
		skip "$name" 'needs root'
	elif ! has podman || ! has runc || ! has busybox; then
		skip "$name" 'no podman, runc or busybox'
	elif ! make_static; then
		skip "$name" 'no static binary: make STATIC=1 fails here'
	else
		make_podman
		! check_image || check_pods
	fi
}

check_containers
