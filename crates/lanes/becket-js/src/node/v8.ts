// The engine is another one. What it says about its memory is what programs print; the rest is refused.

function getHeapStatistics(): any {
    const { heapTotal, heapUsed, external } = process.memoryUsage();
    return {
        total_heap_size: heapTotal, total_heap_size_executable: 0, total_physical_size: heapTotal,
        total_available_size: heapTotal - heapUsed, used_heap_size: heapUsed, heap_size_limit: heapTotal,
        malloced_memory: 0, peak_malloced_memory: 0, does_zap_garbage: 0, number_of_native_contexts: 1,
        number_of_detached_contexts: 0, total_global_handles_size: 0, used_global_handles_size: 0,
        external_memory: external,
    };
}

module.exports = {
    getHeapStatistics, getHeapSpaceStatistics: () => [], cachedDataVersionTag: () => 0, setFlagsFromString() {},
    takeCoverage() {}, stopCoverage() {}, promiseHooks: {},
    getHeapCodeStatistics: () => ({
        code_and_metadata_size: 0, bytecode_and_metadata_size: 0, external_script_source_size: 0,
        cpu_profiler_metadata_size: 0,
    }),
};
