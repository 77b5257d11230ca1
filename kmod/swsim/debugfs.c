// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/swsim/INSTANCE/: the knobs that make the hardware narrow, the list of rules and
 * the counters. A knob is a row of a table: its name, how it prints and how it is set; its text
 * is the same in both directions.
 */
#include <linux/debugfs.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "swsim.h"

static struct dentry *swsim_root;

struct swsim_knob {
	const char *name;
	bool nic; /* a DSA switch has none */
	void (*show)(struct seq_file *seq, struct swsim_inst *inst);
	int (*store)(struct swsim_inst *inst, char *text); /* the lock is held */
};

#define KNOB_U32(knob, member)                                                 \
	static void show_##knob(struct seq_file *seq, struct swsim_inst *inst) \
	{                                                                      \
		seq_printf(seq, "%u\n", inst->limits.member);                  \
	}                                                                      \
	static int store_##knob(struct swsim_inst *inst, char *text)           \
	{                                                                      \
		return kstrtou32(text, 0, &inst->limits.member);               \
	}

#define KNOB_BOOL(knob, member)                                                \
	static void show_##knob(struct seq_file *seq, struct swsim_inst *inst) \
	{                                                                      \
		seq_printf(seq, "%d\n", inst->limits.member);                  \
	}                                                                      \
	static int store_##knob(struct swsim_inst *inst, char *text)           \
	{                                                                      \
		return kstrtobool(text, &inst->limits.member);                 \
	}

KNOB_U32(table_size, table_size)
KNOB_U32(chain_max, chain_max)
KNOB_U32(install_delay_ms, install_delay_ms)
KNOB_BOOL(deny_replace, deny_replace)
KNOB_BOOL(deny_equal_key, deny_equal_key)

static void show_pref_range(struct seq_file *seq, struct swsim_inst *inst)
{
	seq_printf(seq, "%u %u\n", inst->limits.pref_min, inst->limits.pref_max);
}

static int store_pref_range(struct swsim_inst *inst, char *text)
{
	u32 min, max;
	int end = 0;

	if (sscanf(text, "%u %u%n", &min, &max, &end) != 2 || text[end] || min > max)
		return -EINVAL;
	inst->limits.pref_min = min;
	inst->limits.pref_max = max;
	return 0;
}

static void show_deny_fields(struct seq_file *seq, struct swsim_inst *inst)
{
	swsim_fields_print(seq, inst->limits.deny_fields);
}

static int store_deny_fields(struct swsim_inst *inst, char *text)
{
	u64 set = 0, field;
	char *word;

	while ((word = strsep(&text, " \t"))) {
		if (!*word)
			continue;
		field = swsim_fields_by_name(word);
		if (!field)
			return -EINVAL;
		set |= field;
	}
	inst->limits.deny_fields = set;
	return 0;
}

static void show_deny_actions(struct seq_file *seq, struct swsim_inst *inst)
{
	int i;

	for (i = 0; i < SWSIM_ACTS; i++)
		if (inst->limits.deny_actions & BIT(i))
			seq_printf(seq, "%s ", swsim_act_name(i));
	seq_putc(seq, '\n');
}

static int store_deny_actions(struct swsim_inst *inst, char *text)
{
	u32 set = 0;
	char *word;

	while ((word = strsep(&text, " \t"))) {
		int id;

		if (!*word)
			continue;
		id = swsim_act_by_name(word);
		if (id < 0)
			return id;
		set |= BIT(id);
	}
	inst->limits.deny_actions = set;
	return 0;
}

static void show_one_callback(struct seq_file *seq, struct swsim_inst *inst)
{
	seq_printf(seq, "%d\n", swsim_one_callback());
}

static int store_one_callback(struct swsim_inst *inst, char *text)
{
	bool on;
	int err = kstrtobool(text, &on);

	if (!err)
		swsim_set_one_callback(on);
	return err;
}

static void show_fail_next(struct seq_file *seq, struct swsim_inst *inst)
{
	seq_printf(seq, "%u %d\n", inst->limits.fail_good ? 0 : inst->limits.fail_count,
		   inst->limits.fail_errno);
}

static int swsim_store_fail(struct swsim_inst *inst, u32 good, u32 count, int err)
{
	if (count && (err <= 0 || err > MAX_ERRNO))
		return -EINVAL;
	inst->limits.fail_good = good;
	inst->limits.fail_count = count;
	inst->limits.fail_errno = err;
	return 0;
}

static int store_fail_next(struct swsim_inst *inst, char *text)
{
	int err = 0, end = 0;
	u32 count;

	if (!strcmp(text, "0"))
		return swsim_store_fail(inst, 0, 0, 0);
	if (sscanf(text, "%u %d%n", &count, &err, &end) != 2 || text[end])
		return -EINVAL;
	return swsim_store_fail(inst, 0, count, err);
}

static void show_fail_after(struct seq_file *seq, struct swsim_inst *inst)
{
	seq_printf(seq, "%u %u %d\n", inst->limits.fail_good, inst->limits.fail_count,
		   inst->limits.fail_errno);
}

static int store_fail_after(struct swsim_inst *inst, char *text)
{
	int err = 0, end = 0;
	u32 good, count;

	if (!strcmp(text, "0"))
		return swsim_store_fail(inst, 0, 0, 0);
	if (sscanf(text, "%u %u %d%n", &good, &count, &err, &end) != 3 || text[end])
		return -EINVAL;
	return swsim_store_fail(inst, good, count, err);
}

static const char *const count_names[SWSIM_COUNTS] = {
	[SWSIM_RX] = "rx",
	[SWSIM_TX] = "tx",
	[SWSIM_CPU_RX] = "to_cpu",
	[SWSIM_CPU_TX] = "from_cpu",
	[SWSIM_FORWARD] = "forwarded",
	[SWSIM_MIRRORED] = "mirrored",
	[SWSIM_DROP] = "dropped",
	[SWSIM_LOST] = "lost",
};

static void swsim_show_counts(struct seq_file *seq, const char *name, const u64 *packets,
			      const u64 *bytes)
{
	int i;

	seq_puts(seq, name);
	for (i = 0; i < SWSIM_COUNTS; i++)
		seq_printf(seq, " %s %llu/%llu", count_names[i], packets[i], bytes[i]);
	seq_putc(seq, '\n');
}

/* Packets/bytes; the instance first, then each port. */
static void show_counters(struct seq_file *seq, struct swsim_inst *inst)
{
	u64 packets[SWSIM_COUNTS] = {}, bytes[SWSIM_COUNTS] = {};
	unsigned int i;

	for (i = 0; i < inst->nports; i++)
		if (inst->ports[i])
			swsim_counts(inst->ports[i], packets, bytes);
	swsim_show_counts(seq, inst->name, packets, bytes);
	for (i = 0; i < inst->nports; i++) {
		if (!inst->ports[i])
			continue;
		memset(packets, 0, sizeof(packets));
		memset(bytes, 0, sizeof(bytes));
		swsim_counts(inst->ports[i], packets, bytes);
		swsim_show_counts(seq, inst->ports[i]->name, packets, bytes);
	}
}

#define KNOB(knob)                                      \
	{                                               \
#knob, false, show_##knob, store_##knob \
	}

#define KNOB_NIC(knob)                                             \
	{                                                          \
#knob, true, swsim_show_##knob, swsim_store_##knob \
	}

static const struct swsim_knob knobs[] = {
	KNOB(table_size),	  KNOB(pref_range),
	KNOB(chain_max),	  KNOB(deny_fields),
	KNOB(deny_actions),	  KNOB(deny_replace),
	KNOB(deny_equal_key),	  KNOB(one_callback),
	KNOB(fail_next),	  KNOB(fail_after),
	KNOB(install_delay_ms),	  { "counters", false, show_counters, NULL },
	KNOB_NIC(tx_busy),	  KNOB_NIC(tx_stop),
	KNOB_NIC(tx_doorbell_ns), { "tx_queues", true, swsim_show_tx_queues, NULL },
};

static const struct swsim_knob *swsim_knob_of(const struct file *file)
{
	const char *name = file->f_path.dentry->d_name.name;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		if (!strcmp(knobs[i].name, name))
			return &knobs[i];
	return NULL;
}

static int swsim_knob_show(struct seq_file *seq, void *unused)
{
	const struct swsim_knob *knob = swsim_knob_of(seq->file);
	struct swsim_inst *inst = seq->private;

	mutex_lock(&inst->lock);
	knob->show(seq, inst);
	mutex_unlock(&inst->lock);
	return 0;
}

static int swsim_knob_open(struct inode *inode, struct file *file)
{
	return single_open(file, swsim_knob_show, inode->i_private);
}

static ssize_t swsim_knob_write(struct file *file, const char __user *data, size_t len, loff_t *pos)
{
	const struct swsim_knob *knob = swsim_knob_of(file);
	struct swsim_inst *inst = file_inode(file)->i_private;
	char *text;
	int err;

	if (len > PAGE_SIZE)
		return -EINVAL;
	text = memdup_user_nul(data, len);
	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&inst->lock);
	err = knob->store(inst, strim(text));
	mutex_unlock(&inst->lock);
	if (!err && knob->store == store_table_size)
		swsim_devlink_resize(inst);
	kfree(text);
	return err ? err : len;
}

static const struct file_operations swsim_knob_fops = {
	.owner = THIS_MODULE,
	.open = swsim_knob_open,
	.read = seq_read,
	.write = swsim_knob_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static void *swsim_rules_start(struct seq_file *seq, loff_t *pos)
{
	struct swsim_inst *inst = seq->private;

	mutex_lock(&inst->lock);
	return seq_list_start(&inst->rule_list, *pos);
}

static void *swsim_rules_next(struct seq_file *seq, void *v, loff_t *pos)
{
	struct swsim_inst *inst = seq->private;

	return seq_list_next(v, &inst->rule_list, pos);
}

static void swsim_rules_stop(struct seq_file *seq, void *v)
{
	struct swsim_inst *inst = seq->private;

	mutex_unlock(&inst->lock);
}

static int swsim_rules_show(struct seq_file *seq, void *v)
{
	swsim_rule_print(seq, list_entry(v, struct swsim_rule, node));
	return 0;
}

static const struct seq_operations swsim_rules_sops = {
	.start = swsim_rules_start,
	.next = swsim_rules_next,
	.stop = swsim_rules_stop,
	.show = swsim_rules_show,
};

/*
 * Each turn of seq_file starts at the head of the list: with a buffer of a page the list would be
 * walked once for every few rules, which takes half a minute for 100,000.
 */
#define SWSIM_RULES_BUFFER SZ_256K

static int swsim_rules_open(struct inode *inode, struct file *file)
{
	struct seq_file *seq;
	int err = seq_open(file, &swsim_rules_sops);

	if (err)
		return err;
	seq = file->private_data;
	seq->private = inode->i_private;
	seq->buf = kvmalloc(SWSIM_RULES_BUFFER, GFP_KERNEL);
	if (seq->buf) /* or else seq_file takes a page by itself */
		seq->size = SWSIM_RULES_BUFFER;
	return 0;
}

static const struct file_operations swsim_rules_fops = {
	.owner = THIS_MODULE,
	.open = swsim_rules_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release,
};

static int swsim_carrier_get(void *data, u64 *ret)
{
	const struct swsim_port *port = data;

	*ret = READ_ONCE(port->carrier);
	return 0;
}

/* Not rtnl_lock(): whoever removes this file may hold it and wait for us. */
static int swsim_carrier_set(void *data, u64 on)
{
	if (!rtnl_trylock())
		return restart_syscall();
	swsim_set_carrier(data, on);
	rtnl_unlock();
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(swsim_carrier_fops, swsim_carrier_get, swsim_carrier_set, "%llu\n");

void swsim_debugfs_add(struct swsim_inst *inst)
{
	struct dentry *ports, *dir;
	unsigned int i;

	inst->debugfs = debugfs_create_dir(inst->name, swsim_root);
	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		if (!knobs[i].nic || inst->txqs)
			debugfs_create_file(knobs[i].name, knobs[i].store ? 0644 : 0444,
					    inst->debugfs, inst, &swsim_knob_fops);
	debugfs_create_file("rules", 0444, inst->debugfs, inst, &swsim_rules_fops);
	ports = debugfs_create_dir("ports", inst->debugfs);
	for (i = 0; i < inst->nports; i++) {
		if (!inst->ports[i])
			continue;
		dir = debugfs_create_dir(inst->ports[i]->name, ports);
		debugfs_create_file_unsafe("carrier", 0644, dir, inst->ports[i],
					   &swsim_carrier_fops);
	}
}

void swsim_debugfs_init(void)
{
	swsim_root = debugfs_create_dir("swsim", NULL);
}

void swsim_debugfs_exit(void)
{
	debugfs_remove_recursive(swsim_root);
}
