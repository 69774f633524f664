//! Queues, fences and signals.

use super::super::constants::constants;

constants! {
    /// Whether one or several producers may write packets.
    QueueType: u32 as "hsa_queue_type_t" {
        "HSA_QUEUE_TYPE_": {
            MULTI = 0, "several threads";
            SINGLE = 1, "one thread at a time";
            COOPERATIVE = 2, "cooperative dispatches: all workgroups run at once";
        }
    }
}

constants! { flags
    /// Packet kinds that a queue supports.
    QueueFeature: u32 as "hsa_queue_feature_t" {
        "HSA_QUEUE_FEATURE_": {
            KERNEL_DISPATCH = 1, "kernel dispatch packets";
            AGENT_DISPATCH = 2, "agent dispatch packets";
        }
    }
}

constants! {
    /// Attributes of a queue.
    QueueInfo: u32 as "hsa_queue_info_attribute_t" {
        "HSA_AMD_QUEUE_INFO_": {
            AGENT = 0, "[`Agent`](crate::abi::Agent): its agent";
            DOORBELL_ID = 1, "`u64`: doorbell id of the kernel driver";
        }
    }
}

constants! {
    /// Priority of a queue.
    QueuePriority: u32 as "hsa_amd_queue_priority_t" {
        "HSA_AMD_QUEUE_PRIORITY_": {
            LOW = 0, "lower priority";
            NORMAL = 1, "default";
            HIGH = 2, "higher priority";
        }
    }
}

constants! {
    /// Scope of a memory fence.
    FenceScope: u32 as "hsa_fence_scope_t" {
        "HSA_FENCE_SCOPE_": {
            NONE = 0, "no fence";
            AGENT = 1, "the agent";
            SYSTEM = 2, "the host and all agents";
        }
    }
}

constants! {
    /// Condition of a wait.
    SignalCondition: u32 as "hsa_signal_condition_t" {
        "HSA_SIGNAL_CONDITION_": {
            EQ = 0, "the signal equals the value";
            NE = 1, "the signal differs from the value";
            LT = 2, "the signal is less than the value";
            GTE = 3, "the signal is at least the value";
        }
    }
}

impl SignalCondition {
    /// Whether a signal with the value `signal` meets this condition on `value`. Unknown conditions
    /// are never met.
    pub const fn holds(self, signal: i64, value: i64) -> bool {
        match self {
            SignalCondition::EQ => signal == value,
            SignalCondition::NE => signal != value,
            SignalCondition::LT => signal < value,
            SignalCondition::GTE => signal >= value,
            _ => false,
        }
    }
}

constants! {
    /// Hint whether a wait spins or sleeps.
    WaitState: u32 as "hsa_wait_state_t" {
        "HSA_WAIT_STATE_": {
            BLOCKED = 0, "sleep";
            ACTIVE = 1, "spin";
        }
    }
}

constants! { flags
    /// Attributes of a new signal.
    SignalAttribute: u64 as "hsa_amd_signal_attribute_t" {
        "HSA_AMD_SIGNAL_": {
            AMD_GPU_ONLY = 1, "only GPUs wait for it, so no interrupt is needed";
            IPC = 2, "shared with other processes";
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_compare_signed_values() {
        assert!(SignalCondition::EQ.holds(3, 3) && !SignalCondition::EQ.holds(3, 4));
        assert!(SignalCondition::NE.holds(3, 4) && !SignalCondition::NE.holds(3, 3));
        assert!(SignalCondition::LT.holds(-1, 0) && !SignalCondition::LT.holds(0, 0));
        assert!(SignalCondition::GTE.holds(0, 0) && !SignalCondition::GTE.holds(-1, 0));
        assert!(!SignalCondition(9).holds(0, 0));
    }

    #[test]
    fn bits_are_shown_by_name() {
        let both = QueueFeature::KERNEL_DISPATCH | QueueFeature::AGENT_DISPATCH;
        assert_eq!(both.to_string(), "HSA_QUEUE_FEATURE_KERNEL_DISPATCH | HSA_QUEUE_FEATURE_AGENT_DISPATCH");
        assert_eq!(QueueFeature(5).to_string(), "HSA_QUEUE_FEATURE_KERNEL_DISPATCH | QueueFeature(0x4)");
        assert_eq!(QueueFeature::EMPTY.to_string(), "QueueFeature(0x0)");
        assert!(both.contains(QueueFeature::AGENT_DISPATCH) && !QueueFeature::EMPTY.contains(both));
    }
}
