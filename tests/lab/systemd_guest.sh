#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's half of test_systemd.py: in a Debian 12 with systemd it installs swd from the tree $1, with
# the files of the folder $2, and walks it through a life. What each step said goes to
# $LAB_OUT/NAME.{out,err,code}; the judging is done on the host, for this root has no Python.
set -u

# note NAME CMD...: runs CMD and keeps what it said. It never ends this script.
note()
{
	name=$1
	shift
	code=0
	"$@" >"$LAB_OUT/$name.out" 2>"$LAB_OUT/$name.err" </dev/null || code=$?
	echo "$code" >"$LAB_OUT/$name.code"
}

# await WHAT SECONDS CMD...: until CMD succeeds; says so if it never does.
await()
{
	what=$1 left=$(($2 * 5))
	shift 2
	until "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		if [ "$left" -le 0 ]; then
			echo "systemd_guest: waited in vain for $what" >&2
			return 1
		fi
		sleep 0.2
	done
}

unit() { systemctl show -P "$1" swd; }
active() { [ "$(unit ActiveState)" = active ]; }
another_pid()
{
	pid=$(unit MainPID)
	[ "$pid" != 0 ] && [ "$pid" != "$1" ] && active
}
settled() { sw-cli --json status | grep -q '"settled": *true'; }

# state NAME: the unit, the kernel and swd itself at this moment.
state()
{
	note "$1.unit" systemctl show swd
	note "$1.tc" tc -j filter show block 10
	note "$1.files" ls -lA /run/swd /var/lib/swd
	note "$1.status" sw-cli --json status
	note "$1.bypass" sw-cli --json bypass
}

# listen NAME, heard: what tc itself hears of changes in between.
listen()
{
	tc monitor >"$LAB_OUT/$1.out" 2>&1 &
	listener=$!
	sleep 1
}
heard()
{
	sleep 1
	kill "$listener"
	wait "$listener" 2>/dev/null
}

install_it()
{
	cp -a "$1/." /
	systemd-sysusers
	systemd-tmpfiles --create --prefix=/etc/swd
	systemctl daemon-reload
	note install sh -c 'getent group swd; ls -ld /etc/swd; command -v sw-cli'
	note verify systemd-analyze verify --man=no swd.service
	note security systemd-analyze --no-pager security swd.service
	groupadd netops
	useradd -M nobodys
	useradd -M -G swd reader
	useradd -M -G netops writer
}

hardware()
{
	modprobe swsim
	for device in cpu0 $(cd /sys/class/net && ls -d lan*w); do
		ip link set "$device" up
	done
	# So that not all ports say the same.
	ethtool -K lan12 hw-tc-offload off
}

ports() { (cd /sys/class/net && ls -d lan* | grep -v w); }

# What Linux's own tools and files say of the ports.
strangers()
{
	note ports.text sw-cli ports
	note ports.json sw-cli --json ports
	note ip ip -d -j link show
	note devlink devlink -j port show
	note sys sh -c 'cd /sys/class/net && grep -sH "" */phys_port_name */phys_switch_id */dsa/tagging; true'
	note doorbells grep -H "" /sys/class/net/lan1/tx_doorbell_frames /sys/class/net/lan7/tx_doorbell_frames
	for device in $(ports); do
		echo "$device $(od -An -tx1 "/sys/class/net/$device/device/of_node/dsa,member")"
	done >"$LAB_OUT/members.out"
	for device in $(ports); do
		note "ethtool.$device" ethtool -k "$device"
	done
}

reloads()
{
	put two
	listen reload.heard
	note reload.good systemctl reload swd
	heard
	state reloaded
	put broken
	note reload.broken systemctl reload swd
	state refused
	note refused.journal journalctl -u swd -o cat --no-pager
	note refused.text sw-cli status
	note reload.hangup systemctl kill --kill-whom=main --signal=HUP swd
	sleep 2
	state hangup
	put two
	note reload.again systemctl reload swd
	state again
}
put() { cp "$files/$1.yaml" /etc/swd/swd.yaml; }

users()
{
	note reader.plan runuser -u reader -- sw-cli plan "$files/one.yaml"
	for user in nobodys reader writer; do
		note "$user.status" runuser -u "$user" -- sw-cli status
		note "$user.apply" runuser -u "$user" -- sw-cli apply "$files/one.yaml"
	done
	state users
	note reload.users systemctl reload swd
}

killed()
{
	listen kill.heard
	before=$(unit MainPID)
	kill -9 "$before"
	await "a new swd" 30 another_pid "$before"
	await "rest after the kill" 30 settled
	heard
	state killed
}

# The watchdog with a period that a test can wait for: fed it does nothing, and a frozen swd is replaced.
watchdog()
{
	mkdir -p /run/systemd/system/swd.service.d
	printf '[Service]\nWatchdogSec=3s\nTimeoutAbortSec=10s\n' >/run/systemd/system/swd.service.d/fast.conf
	systemctl daemon-reload
	systemctl restart swd
	before=$(unit MainPID)
	sleep 8
	note watchdog.fed sh -c "echo $before; systemctl show -P MainPID swd; systemctl show -P NRestarts swd"
	kill -STOP "$before"
	await "the watchdog" 60 another_pid "$before"
	state watchdog
	note watchdog.journal journalctl -u swd -o cat --no-pager
	rm /run/systemd/system/swd.service.d/fast.conf
	systemctl daemon-reload
}

# A reload that takes longer than systemd's patience, because hardware is slow: each switch takes its time.
slow()
{
	mkdir -p /run/systemd/system/swd.service.d
	printf '[Service]\nTimeoutStartSec=8s\n' >/run/systemd/system/swd.service.d/slow.conf
	systemctl daemon-reload
	put one
	note slow.before systemctl reload swd
	for knob in /sys/kernel/debug/swsim/dsa*/install_delay_ms; do echo 8000 >"$knob"; done
	put two
	begin=$(date +%s)
	note slow.reload systemctl reload swd
	echo $(($(date +%s) - begin)) >"$LAB_OUT/slow.seconds.out"
	state slow
	for knob in /sys/kernel/debug/swsim/dsa*/install_delay_ms; do echo 0 >"$knob"; done
	rm /run/systemd/system/swd.service.d/slow.conf
	systemctl daemon-reload
}

# Each capability is there for something: what fails without it.
without()
{
	mkdir -p /run/systemd/system/swd.service.d
	for cap in NET_ADMIN NET_RAW SYS_ADMIN; do
		printf '[Service]\nCapabilityBoundingSet=~CAP_%s\n' "$cap" >/run/systemd/system/swd.service.d/less.conf
		systemctl daemon-reload
		systemctl restart swd
		state "without.$cap"
		put one
		note "without.$cap.reload" systemctl reload swd
		put two
	done
	rm /run/systemd/system/swd.service.d/less.conf
	systemctl daemon-reload
	systemctl restart swd
	note without.nothing.reload systemctl reload swd
}

files=$2
install_it "$1"
hardware
put one
note start systemctl start swd
state started
note started.process cat "/proc/$(unit MainPID)/status"
note started.mounts cat "/proc/$(unit MainPID)/mountinfo"
note started.threads sh -c 'grep -H "^Cap" /proc/$0/task/*/status' "$(unit MainPID)"
strangers
reloads
users
killed
slow
watchdog
without
state before
listen stop.heard
note stop systemctl stop swd
state stopped
note start.again systemctl start swd
await "rest after the start" 30 settled
heard
state restarted
note journal journalctl -u swd -o short-monotonic --no-pager
note failed systemctl --failed --plain --no-legend
systemctl stop swd
