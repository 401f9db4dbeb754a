//go:build ignore

// The processor state that ptrace(2) sets in a guest's process, made as long as this host wants it.
//
// User-Mode Linux 6.1 keeps 2,696 bytes of it, all up to the protection keys (arch/x86/um/user-offsets.c, HOST_FP_SIZE),
// and PTRACE_SETREGSET refuses less than a whole one with EFAULT (xstateregs_set in arch/x86/kernel/fpu/regset.c). On a
// processor with AMX it is 11,008 bytes, so no guest gets to its first instruction there. What is added is zero, and its
// bits in XSTATE_BV are not set: registers that no guest's program may use, since none has asked for the permission.
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

enum { xsave_leaf = 0xd };

static long (*real_ptrace)(int, int, void *, void *);

// Guests have one processor and are not preempted, so one buffer is enough; their stacks are too small for it.
static char whole[64 << 10] __attribute__((aligned(64)));
static unsigned size; // of the state that this host's kernel has enabled

__attribute__((constructor)) static void begin(void)
{
	unsigned largest, c, d;

	real_ptrace = (long (*)(int, int, void *, void *))dlsym(RTLD_NEXT, "ptrace");
	if (__get_cpuid_max(0, 0) >= xsave_leaf)
		__cpuid_count(xsave_leaf, 0, largest, size, c, d);
	if (size > sizeof whole)
		size = 0;
}

long ptrace(enum __ptrace_request request, ...)
{
	__builtin_va_list rest;
	__builtin_va_start(rest, request);
	int pid = __builtin_va_arg(rest, int);
	void *address = __builtin_va_arg(rest, void *);
	void *data = __builtin_va_arg(rest, void *);
	__builtin_va_end(rest);

	const struct iovec *given = data;
	if (request != PTRACE_SETREGSET || (long)address != NT_X86_XSTATE || given->iov_len >= size)
		return real_ptrace(request, pid, address, data);
	memcpy(whole, given->iov_base, given->iov_len);
	memset(whole + given->iov_len, 0, size - given->iov_len);
	struct iovec padded = {whole, size};
	return real_ptrace(request, pid, address, &padded);
}
