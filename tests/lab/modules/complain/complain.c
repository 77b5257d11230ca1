// SPDX-License-Identifier: GPL-2.0
/* Makes the kernel complain, so that the lab's own tests can see that a run fails by it. */
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static char *how = "";
module_param(how, charp, 0444);
MODULE_PARM_DESC(how, "warn, oops, panic, spin, lock-order, use-after-free, leak");

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

static void take_both(struct mutex *a, struct mutex *b)
{
	mutex_lock(a);
	mutex_lock(b);
	mutex_unlock(b);
	mutex_unlock(a);
}

static void use_after_free(void)
{
	volatile char *p = kmalloc(64, GFP_KERNEL);

	kfree((void *)p);
	if (p)
		p[8] = 1;
}

static int __init complain_init(void)
{
	static void *volatile lost;

	if (!strcmp(how, "warn")) {
		WARN(1, "complain: asked for it\n");
	} else if (!strcmp(how, "oops")) {
		*(volatile int *)8 = 1;
	} else if (!strcmp(how, "panic")) {
		panic("complain: asked for it");
	} else if (!strcmp(how, "spin")) {
		for (;;)
			cpu_relax();
	} else if (!strcmp(how, "lock-order")) {
		take_both(&first, &second);
		take_both(&second, &first);
	} else if (!strcmp(how, "use-after-free")) {
		use_after_free();
	} else if (!strcmp(how, "leak")) {
		lost = kmalloc(1000, GFP_KERNEL);
		lost = NULL;
	} else {
		return -EINVAL;
	}
	return 0;
}
module_init(complain_init);

static void __exit complain_exit(void)
{
}
module_exit(complain_exit);

MODULE_DESCRIPTION("Complaints on demand for the lab's own tests");
MODULE_LICENSE("GPL");
